//! Wait states, the causes of delays, and incidents.
