//! The symbols of the grammar of all lanes: each has one content, and each content has one symbol.

use callgrove_model::FuncId;

use super::content::{Content, HashedMap, mix};

/// A symbol. Those that a symbol consists of have lower numbers, but for what the factorisation makes of a
/// call's body.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Sym(pub(super) u32);

impl Sym {
    pub(super) fn index(self) -> usize {
        index(self.0)
    }
}

/// A number of rows or symbols as a place in a list.
pub(super) fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A place in a list as a number; lists hold fewer than 2^32 things, as columns do.
pub(super) fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// What a symbol stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Def {
    /// A call in which nothing was recorded.
    Leaf(FuncId),
    /// A call with what was called inside it.
    Call { func: FuncId, body: Body },
    /// A call that was never left.
    Open { func: FuncId, body: Body },
    /// A symbol several times in a row.
    Loop { of: Sym, times: u32 },
    /// A symbol so many times in a row that the number is no part of the content.
    Many { of: Sym },
    /// One symbol, then another.
    Pair(Sym, Sym),
}

/// A list of symbols.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body {
    pub(super) start: u32,
    pub(super) end: u32,
}

/// All symbols.
#[derive(Default)]
pub(super) struct Symbols {
    defs: Vec<Def>,
    contents: Vec<Content>,
    bodies: Vec<Sym>,
    known: HashedMap<u128, Sym>,
}

const LEAF: u64 = 1;
const CALL: u64 = 2;
const OPEN: u64 = 3;
const MANY: u64 = 4;

impl Symbols {
    pub(super) fn len(&self) -> usize {
        self.defs.len()
    }

    pub(super) fn def(&self, sym: Sym) -> Def {
        self.defs[sym.index()]
    }

    pub(super) fn content(&self, sym: Sym) -> Content {
        self.contents[sym.index()]
    }

    pub(super) fn body(&self, body: Body) -> &[Sym] {
        self.bodies
            .get(index(body.start)..index(body.end))
            .unwrap_or_default()
    }

    /// Whether a symbol may be part of a pattern.
    pub(super) fn can_recur(&self, sym: Sym) -> bool {
        !matches!(self.def(sym), Def::Open { .. })
    }

    /// A call of `func`, whose name hashes to `name`, with a body.
    pub(super) fn call(
        &mut self,
        func: FuncId,
        name: u64,
        is_closed: bool,
        body: &[Sym],
        inside: Content,
    ) -> Sym {
        let kind = match (is_closed, body.is_empty()) {
            (true, true) => LEAF,
            (true, false) => CALL,
            (false, _) => OPEN,
        };
        let content = inside.wrap(mix(name).wrapping_add(kind));
        if let Some(&sym) = self.known.get(&content.key()) {
            return sym;
        }
        let start = number(self.bodies.len());
        self.bodies.extend_from_slice(body);
        let body = Body {
            start,
            end: number(self.bodies.len()),
        };
        let def = match kind {
            LEAF => Def::Leaf(func),
            CALL => Def::Call { func, body },
            _ => Def::Open { func, body },
        };
        self.add(def, content)
    }

    /// A symbol `times` in a row.
    pub(super) fn repeated(&mut self, of: Sym, times: u32) -> Sym {
        if times == 1 {
            return of;
        }
        let content = self.content(of).repeated(times);
        self.intern(Def::Loop { of, times }, content)
    }

    /// A symbol many times in a row.
    pub(super) fn many(&mut self, of: Sym) -> Sym {
        let content = self.content(of).wrap(MANY);
        self.intern(Def::Many { of }, content)
    }

    /// One symbol, then another; if that sequence is known otherwise, as it is known.
    pub(super) fn pair(&mut self, left: Sym, right: Sym) -> Sym {
        let content = self.content(left).then(self.content(right));
        self.intern(Def::Pair(left, right), content)
    }

    /// The function of a single call.
    pub(super) fn function(&self, sym: Sym) -> Option<FuncId> {
        match self.def(sym) {
            Def::Leaf(func) | Def::Call { func, .. } | Def::Open { func, .. } => Some(func),
            Def::Loop { .. } | Def::Many { .. } | Def::Pair(..) => None,
        }
    }

    /// The function of a call, or of a run of equal calls.
    pub(super) fn function_of_run(&self, sym: Sym) -> Option<FuncId> {
        match self.def(sym) {
            Def::Loop { of, .. } | Def::Many { of } => self.function(of),
            _ => self.function(sym),
        }
    }

    /// What is repeated, and how many times; a symbol that is no loop is once itself.
    pub(super) fn base(&self, sym: Sym) -> (Sym, u32) {
        match self.def(sym) {
            Def::Loop { of, times } => (of, times),
            _ => (sym, 1),
        }
    }

    fn intern(&mut self, def: Def, content: Content) -> Sym {
        match self.known.get(&content.key()) {
            Some(&sym) => sym,
            None => self.add(def, content),
        }
    }

    fn add(&mut self, def: Def, content: Content) -> Sym {
        let sym = Sym(number(self.defs.len()));
        self.defs.push(def);
        self.contents.push(content);
        self.known.insert(content.key(), sym);
        sym
    }
}
