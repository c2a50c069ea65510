//! Function names as TAU writes them: `signature [{file} {line,column}]`.

/// The parts of a function name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionName<'a> {
    /// The whole name.
    pub full: &'a str,
    /// The demangled name without arguments: `LAMMPS_NS::PairEAM::compute`, `MPI_Send`.
    pub qualified: &'a str,
    /// The last two components, as users call the function: `PairEAM::compute`.
    pub short: &'a str,
    /// Source file.
    pub file: Option<&'a str>,
    /// Line in the source file.
    pub line: Option<u32>,
}

impl<'a> FunctionName<'a> {
    /// Splits a name into its parts. A part that does not match the format is kept unsplit.
    pub fn parse(full: &'a str) -> Self {
        let (signature, location) = match full.rfind(" [{") {
            Some(at) if full.ends_with(']') => (&full[..at], Some(&full[at + 2..full.len() - 1])),
            _ => (full, None),
        };
        let (file, line) = location.map_or((None, None), parse_location);
        let qualified = without_arguments(signature.trim());
        Self {
            full,
            qualified,
            short: last_components(qualified, 2),
            file,
            line,
        }
    }

    /// Returns whether it is an MPI function, or an entry that the tracer adds to one.
    pub fn is_mpi(&self) -> bool {
        self.qualified.starts_with("MPI_") || self.qualified.starts_with("MPI ")
    }
}

/// A pattern with which a person names a function.
///
/// A pattern matches the full name, the demangled name without arguments, or the end of that from a `::` on. `*`
/// matches any string, `?` one character.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionPattern {
    pattern: String,
}

impl FunctionPattern {
    /// Returns a pattern.
    pub fn new(pattern: &str) -> Self {
        Self {
            pattern: pattern.trim().to_owned(),
        }
    }

    /// Returns the text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Returns whether the pattern matches the name.
    pub fn matches(&self, name: &FunctionName<'_>) -> bool {
        if matches_wildcards(&self.pattern, name.full) {
            return true;
        }
        let mut rest = name.qualified;
        loop {
            if matches_wildcards(&self.pattern, rest) {
                return true;
            }
            match rest.find("::") {
                Some(at) => rest = &rest[at + 2..],
                None => return false,
            }
        }
    }
}

fn parse_location(location: &str) -> (Option<&str>, Option<u32>) {
    let mut parts = location
        .split(['{', '}'])
        .filter(|part| !part.trim().is_empty());
    let file = parts.next();
    let line = parts
        .next()
        .and_then(|place| place.split(',').next()?.trim().parse().ok());
    (file, line.filter(|&line| line > 0))
}

/// Removes the argument list and everything after it, and a return type before the name.
fn without_arguments(signature: &str) -> &str {
    let name = match signature.rfind(')') {
        Some(close) => match opening(signature, close) {
            // `operator()` is a name and `(anonymous namespace)` a component, not argument lists. Neither is what
            // follows a space, as in `Memcpy HtoD (Pinned -> Device)`.
            Some(open)
                if open > 0
                    && !signature[..open].ends_with("::")
                    && !signature[..open].ends_with(' ')
                    && !goes_on(&signature[close + 1..]) =>
            {
                &signature[..open]
            }
            _ => signature,
        },
        None => signature,
    };
    let name = if name.ends_with("operator") {
        signature_with_call_operator(signature, name.len())
    } else {
        name
    };
    if signature.len() == name.len() {
        name
    } else {
        after_return_type(name)
    }
}

/// Returns whether a name continues after a bracket, as names of Python do: `enumerate(DataLoader)#_Iter.__next__` and
/// `module.py(12): forward`.
fn goes_on(rest: &str) -> bool {
    rest.starts_with('#') || rest.starts_with(": ")
}

fn signature_with_call_operator(signature: &str, end: usize) -> &str {
    if signature[end..].starts_with("()") {
        &signature[..end + 2]
    } else {
        &signature[..end]
    }
}

/// Returns the position of the bracket that the one at `close` closes.
fn opening(text: &str, close: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in text.as_bytes()[..=close].iter().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Removes the return type that the demangler writes before templates: `void foo<int>`.
fn after_return_type(name: &str) -> &str {
    let mut depth = 0_i32;
    let mut start = 0;
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'<' | b'(' => depth += 1,
            b'>' | b')' => depth -= 1,
            b' ' if depth == 0 && !name[..at].ends_with("operator") => start = at + 1,
            _ => {}
        }
    }
    &name[start..]
}

fn last_components(name: &str, count: usize) -> &str {
    let mut depth = 0_i32;
    let mut found = 0;
    let bytes = name.as_bytes();
    for at in (1..bytes.len()).rev() {
        match bytes[at] {
            b'>' => depth += 1,
            b'<' => depth -= 1,
            b':' if depth == 0 && bytes[at - 1] == b':' => {
                found += 1;
                if found == count {
                    return &name[at + 1..];
                }
            }
            _ => {}
        }
    }
    name
}

/// Greedy matching with a single backtracking point: O(pattern × text) in the worst case.
fn matches_wildcards(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut back_to = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                back_to = Some((p + 1, t));
                p += 1;
            }
            Some(&byte) if byte == text[t] || byte == b'?' => {
                p += 1;
                t += 1;
            }
            _ => match &mut back_to {
                Some((after_star, from)) => {
                    *from += 1;
                    (p, t) = (*after_star, *from);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_their_parts() {
        let check = |full, qualified, short| {
            let name = FunctionName::parse(full);
            assert_eq!((name.qualified, name.short), (qualified, short), "{full}");
        };
        check(
            "enumerate(DataLoader)#_Iter.__next__",
            "enumerate(DataLoader)#_Iter.__next__",
            "enumerate(DataLoader)#_Iter.__next__",
        );
        check(
            "module.py(12): forward",
            "module.py(12): forward",
            "module.py(12): forward",
        );
        check(
            "Memcpy HtoD (Pinned -> Device)",
            "Memcpy HtoD (Pinned -> Device)",
            "Memcpy HtoD (Pinned -> Device)",
        );
        check(
            "LAMMPS_NS::PairEAM::compute(int, int) [{/lammps/src/pair_eam.cpp} {145,0}]",
            "LAMMPS_NS::PairEAM::compute",
            "PairEAM::compute",
        );
        check("MPI_Send()", "MPI_Send", "MPI_Send");
        check(".TAU application", ".TAU application", ".TAU application");
        check(
            "MPI Collective Sync",
            "MPI Collective Sync",
            "MPI Collective Sync",
        );
        check("main [{/lammps/src/main.cpp} {35,0}]", "main", "main");
        check(
            "addr=<7f12ab> [{/opt/lmp} {0,0}]",
            "addr=<7f12ab>",
            "addr=<7f12ab>",
        );
        check(
            "void ns::f<int, (char)1>(std::vector<int>) const",
            "ns::f<int, (char)1>",
            "ns::f<int, (char)1>",
        );
        check(
            "A::B::operator()(int) const",
            "A::B::operator()",
            "B::operator()",
        );
        check("x::y<a::b>::z(int)", "x::y<a::b>::z", "y<a::b>::z");
        check("", "", "");
        check(")(", ")(", ")(");
    }

    #[test]
    fn locations_are_optional() {
        let name = FunctionName::parse("f(int) [{/a b/c.cpp} {145,3}]");
        assert_eq!((name.file, name.line), (Some("/a b/c.cpp"), Some(145)));
        assert_eq!(FunctionName::parse("f(int)").file, None);
    }

    #[test]
    fn patterns_match_whole_components() {
        let name =
            FunctionName::parse("LAMMPS_NS::PairEAM::compute(int, int) [{pair_eam.cpp} {145,0}]");
        for pattern in [
            "PairEAM::compute",
            "compute",
            "LAMMPS_NS::PairEAM::compute",
            "Pair*::compute",
            "*comp*",
            name.full,
        ] {
            assert!(FunctionPattern::new(pattern).matches(&name), "{pattern}");
        }
        for pattern in ["EAM::compute", "PairEAM", "comput", "PairEAM::comput?e", ""] {
            assert!(!FunctionPattern::new(pattern).matches(&name), "{pattern}");
        }
    }
}
