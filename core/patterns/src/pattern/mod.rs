//! Recurring patterns of events, their usual durations, and the iterations of the program.
