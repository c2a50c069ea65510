//! Function names and their parts, and tables that number names.

mod communication_kernel;
mod function_name;
mod host_wait;
mod name_table;

pub use communication_kernel::communication_kernel;
pub use function_name::{FunctionName, FunctionPattern};
pub use host_wait::HostWait;
pub use name_table::{MAX_COUNTER_NAME_BYTES, MAX_NAME_BYTES, Name, NameTable, storable_text};
