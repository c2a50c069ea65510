//! Recorded names, split into the name of a function and the arguments of a call.
//!
//! Some tools write into the name of a call what belongs to that call alone. Each such call would be a function of its
//! own, which has no other executions, no peers on other ranks, and no counterpart in another run. The rules:
//!
//! 1. A list of values that follows the name, as in the NVTX ranges of PyTorch: `aten::mm, seq = 12, sizes = [[8, 8]]`.
//!    It begins with a comma outside of brackets, a key, `=`, and a number or a list.
//! 2. Addresses, anywhere: `0x` and six hexadecimal digits or more, with ` at ` or blanks before them. An address after
//!    `+` is an offset, which identifies code, and remains.
//! 3. A number after the last `#`: `ProfilerStep#12`.
//! 4. The numbers of XLA's instructions and of the kernels made of them: `all-reduce.2`, `loop_add_fusion.3`. Other names
//!    with a dot and a number remain, since these are different functions: `main._omp_fn.0`, `encoder.layers.3`.
//! 5. The version of a function of CUDA's runtime: `_v` and four or five digits after a name that begins with `cuda`.
//!    The one-digit versions of the driver's functions, as in `cuMemcpyDtoH_v2`, are parts of their names.
//!
//! Template arguments remain, since kernels that differ only in these do different work. A rule that would leave no
//! letter or digit does not apply.

use std::borrow::Cow;

use super::xla_name::without_instance;

/// Least number of digits of an address: that of the lowest addresses of a program on Linux, which begin at 0x400000.
/// Shorter numbers are masks and sizes.
const MIN_ADDRESS_DIGITS: usize = 6;
/// Prefix of the functions of CUDA's runtime.
const CUDA_RUNTIME_PREFIX: &str = "cuda";
/// Precedes the version of a function of CUDA's runtime.
const CUDA_VERSION: &str = "_v";
/// Between the parts of arguments that come from several places of a name.
const SEPARATOR: &str = ", ";

/// The parts of a name as a tool recorded it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedName<'a> {
    /// The name of the function, which is the same for all its calls. It is empty only if the recorded name is.
    pub function: Cow<'a, str>,
    /// The parts that belong to one call: `seq = 12, op_id = 7`, `0x7f4f85497ec0`, `12`.
    pub arguments: Option<Cow<'a, str>>,
}

impl<'a> RecordedName<'a> {
    /// Returns a name of which nothing is removed.
    pub fn whole(recorded: &'a str) -> Self {
        Self {
            function: Cow::Borrowed(recorded),
            arguments: None,
        }
    }

    /// Splits a recorded name. Splitting the resulting name again changes nothing. Cost: O(length), without a copy of a
    /// name that has no addresses; readers split each distinct name once.
    pub fn parse(recorded: &'a str) -> Self {
        let (kept, arguments) = without_tails(recorded);
        let Some((text, addresses)) = without_addresses(kept) else {
            return Self {
                function: Cow::Borrowed(kept),
                arguments: arguments.map(Cow::Borrowed),
            };
        };
        // Without its addresses, a name may end with a list of values.
        let (rest, list) = without_tails(&text);
        let parts = [list, Some(&addresses), arguments];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        Self {
            function: Cow::Owned(rest.to_owned()),
            arguments: Some(Cow::Owned(parts.join(SEPARATOR))),
        }
    }
}

/// Returns the name without the arguments at its end, and these.
fn without_tails(name: &str) -> (&str, Option<&str>) {
    let may_have_list = name.contains('=');
    let may_have_number = name.ends_with(|last: char| last.is_ascii_alphanumeric());
    if !may_have_list && !may_have_number {
        return (name, None);
    }
    let list = may_have_list.then(|| before_values(name)).flatten();
    let mut kept = list.unwrap_or(name);
    while let Some(shorter) = before_number(kept)
        .or_else(|| without_instance(kept))
        .or_else(|| before_version(kept))
        .filter(|it| is_readable(it))
    {
        kept = shorter.trim_end();
    }
    let tail = name.get(kept.len()..).unwrap_or_default();
    let tail = tail.strip_prefix(CUDA_VERSION).unwrap_or(tail);
    let tail = tail.strip_prefix('_').unwrap_or(tail);
    let tail = tail.trim_start_matches([',', '#', '.', ' ']);
    (kept, (kept.len() < name.len()).then_some(tail))
}

/// Returns whether something is left of a name.
fn is_readable(name: &str) -> bool {
    name.contains(char::is_alphanumeric)
}

/// Returns the name before a list of values.
fn before_values(name: &str) -> Option<&str> {
    let mut depth = 0_u32;
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 && name.get(at + 1..).is_some_and(begins_with_value) => {
                let kept = name.get(..at)?.trim_end();
                return is_readable(kept).then_some(kept);
            }
            _ => {}
        }
    }
    None
}

/// Returns whether a text begins with a key and a number or a list: ` op_id = 7`.
fn begins_with_value(text: &str) -> bool {
    let is_of_key = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let text = text.trim_start();
    if !text.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_') {
        return false;
    }
    let value = text.trim_start_matches(is_of_key).trim_start();
    let value = value.strip_prefix('=').map(str::trim_start);
    value.is_some_and(|it| {
        let it = it.strip_prefix('-').unwrap_or(it);
        it.starts_with(|first: char| first.is_ascii_digit() || first == '[')
    })
}

/// Returns the name before `#` and a number.
fn before_number(name: &str) -> Option<&str> {
    let before = name.trim_end_matches(|it: char| it.is_ascii_digit());
    let has_number = before.len() < name.len();
    before.strip_suffix('#').filter(|_| has_number)
}

/// Returns the name of a function of CUDA's runtime before its version.
fn before_version(name: &str) -> Option<&str> {
    let before = name.trim_end_matches(|it: char| it.is_ascii_digit());
    let has_version = matches!(name.len() - before.len(), 4 | 5);
    let function = before.strip_suffix(CUDA_VERSION)?;
    let is_identifier = |it: &str| it.bytes().all(is_word);
    let is_of_runtime = function.starts_with(CUDA_RUNTIME_PREFIX) && is_identifier(function);
    (has_version && is_of_runtime).then_some(function)
}

/// Returns whether a byte belongs to an identifier.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns the name without its addresses, and these; `None` if it has none.
fn without_addresses(name: &str) -> Option<(String, String)> {
    let mut text = String::new();
    let mut addresses = String::new();
    let (mut rest, mut searched) = (name, 0);
    while let Some(found) = rest.get(searched..)?.find("0x") {
        let at = searched + found;
        let (before, address) = rest.split_at(at);
        let num_digits = address.bytes().skip(2);
        let num_digits = num_digits.take_while(u8::is_ascii_hexdigit).count();
        let end = at + 2 + num_digits;
        let is_separate = |byte: Option<u8>| byte.is_none_or(|it| !is_word(it));
        let last = before.bytes().last();
        if num_digits < MIN_ADDRESS_DIGITS
            || last == Some(b'+')
            || !is_separate(last)
            || !is_separate(rest.as_bytes().get(end).copied())
        {
            searched = at + 2;
            continue;
        }
        text.push_str(before);
        let kept = text.trim_end();
        let kept = kept
            .strip_suffix(" at")
            .filter(|_| kept.len() < text.len())
            .unwrap_or(kept);
        text.truncate(kept.trim_end().len());
        if !addresses.is_empty() {
            addresses.push_str(SEPARATOR);
        }
        addresses.push_str(rest.get(at..end)?);
        (rest, searched) = (rest.get(end..)?, 0);
    }
    text.push_str(rest);
    (!addresses.is_empty() && is_readable(&text)).then_some((text, addresses))
}
