//! Functions, and the class of a call that follows from its name.

use std::borrow::Cow;

use callgrove_model::{FuncId, HostWait, MAX_NAME_BYTES, NameTable, storable_text};
use callgrove_source::RecordedName;

use super::collectives::{CollectiveClass, is_message_call};
use crate::json::JsonText;

/// The name of the iterations of PyTorch before their numbers.
const STEP_NAME: &str = "ProfilerStep";
/// The operation that states the process group of a collective.
const GROUP_OPERATION: &str = "record_param_comms";

/// Parts of the names of copies from and to the memory of the host, as NVIDIA and AMD name them.
const HOST_COPIES: [&str; 4] = ["HtoD", "DtoH", "HostToDevice", "DeviceToHost"];

/// A function, with the facts that follow from its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ChromeFunction {
    pub(super) func: FuncId,
    /// The class of a kernel, and of a call on the CPU.
    pub(super) classes: [Option<CollectiveClass>; 2],
    pub(super) is_group_operation: bool,
    /// What a call of a programming interface waits for.
    pub(super) host_wait: Option<HostWait>,
    /// True for a copy from or to the memory of the host.
    pub(super) is_host_copy: bool,
    /// The number of the iteration.
    pub(super) step: Option<u64>,
}

/// A name when it is first read.
pub(super) struct ReadName {
    pub(super) function: ChromeFunction,
    /// Number of changes of the text.
    pub(super) num_changes: usize,
    pub(super) is_message_call: bool,
}

impl ChromeFunction {
    /// Reads a name, and adds it to `names` without the arguments of the call. A file of Callgrove has the names of
    /// functions, of which nothing is removed.
    pub(super) fn read(
        name: JsonText<'_>,
        names: &mut NameTable<FuncId>,
        is_own_file: bool,
    ) -> ReadName {
        let decoded = name.decoded();
        let is_irregular = decoded.is_irregular;
        let text = if is_irregular {
            Cow::Owned(decoded.text.replace(char::is_control, " "))
        } else {
            decoded.text
        };
        let recorded = if is_own_file {
            RecordedName::whole(&text)
        } else {
            RecordedName::parse(&text)
        };
        let number = recorded.arguments.as_deref();
        let number = number.filter(|_| recorded.function == STEP_NAME);
        let step = number.and_then(|it| it.parse().ok());
        let short = storable_text(&recorded.function, MAX_NAME_BYTES);
        let is_cut = short != recorded.function;
        let function = Self {
            func: names.intern(&short),
            classes: [
                CollectiveClass::of_kernel(&short),
                CollectiveClass::of_call(&short),
            ],
            is_group_operation: short == GROUP_OPERATION,
            host_wait: HostWait::of_name(&short),
            is_host_copy: HOST_COPIES.iter().any(|it| short.contains(it)),
            step,
        };
        ReadName {
            function,
            num_changes: usize::from(is_irregular) + usize::from(is_cut),
            is_message_call: is_message_call(&short),
        }
    }
}
