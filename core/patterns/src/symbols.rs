//! The symbols of the grammar of all lanes: one symbol per content.

use callgrove_model::FuncId;

use super::content::{Content, HashedMap, mix};

/// A symbol. Its parts have lower numbers, except the parts that the factorisation puts into a call's body.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Sym(pub(super) u32);

impl Sym {
    pub(super) fn index(self) -> usize {
        index(self.0)
    }
}

/// Returns a number of rows or symbols as an index.
pub(super) fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Returns an index as a number; lists hold fewer than 2^32 items, as columns do.
pub(super) fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The definition of a symbol.
#[derive(Clone, Copy, Debug)]
pub(super) enum Def {
    /// A call in which nothing was recorded.
    Leaf(FuncId),
    /// A call with the calls inside it.
    Call { func: FuncId, body: Body },
    /// A call that was never left.
    Open { func: FuncId, body: Body },
    /// A symbol several times in a row.
    Loop { of: Sym, times: u32 },
    /// A long run of one symbol, whose length is not part of the content.
    Many { of: Sym },
    /// One symbol, then another.
    Pair(Sym, Sym),
}

/// A range in the list of all bodies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body {
    pub(super) start: u32,
    pub(super) end: u32,
}

/// The symbols of all lanes.
#[derive(Default)]
pub(super) struct Symbols {
    defs: Vec<Def>,
    contents: Vec<Content>,
    bodies: Vec<Sym>,
    known: HashedMap<u128, Sym>,
}

/// Content kind of a call without recorded calls inside; kinds must differ, so that different constructs do.
const LEAF: u64 = 1;
/// Content kind of a call with calls inside.
const CALL: u64 = 2;
/// Content kind of a call that was never left.
const OPEN: u64 = 3;
/// Content kind of a long run of one symbol.
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

    /// Returns whether a symbol may be part of a pattern.
    pub(super) fn can_recur(&self, sym: Sym) -> bool {
        !matches!(self.def(sym), Def::Open { .. })
    }

    /// Returns a call of `func`, whose name hashes to `name`, with a body.
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

    /// Returns a symbol `times` in a row.
    pub(super) fn repeated(&mut self, of: Sym, times: u32) -> Sym {
        if times == 1 {
            return of;
        }
        let content = self.content(of).repeated(times);
        self.intern(Def::Loop { of, times }, content)
    }

    /// Returns a long run of a symbol, of any length.
    pub(super) fn many(&mut self, of: Sym) -> Sym {
        let content = self.content(of).wrap(MANY);
        self.intern(Def::Many { of }, content)
    }

    /// Returns one symbol followed by another; if another symbol has that content, that symbol.
    pub(super) fn pair(&mut self, left: Sym, right: Sym) -> Sym {
        let content = self.content(left).then(self.content(right));
        self.intern(Def::Pair(left, right), content)
    }

    /// Returns the function of a single call.
    pub(super) fn function(&self, sym: Sym) -> Option<FuncId> {
        match self.def(sym) {
            Def::Leaf(func) | Def::Call { func, .. } | Def::Open { func, .. } => Some(func),
            Def::Loop { .. } | Def::Many { .. } | Def::Pair(..) => None,
        }
    }

    /// Returns the function of a call, or of a run of equal calls.
    pub(super) fn function_of_run(&self, sym: Sym) -> Option<FuncId> {
        match self.def(sym) {
            Def::Loop { of, .. } | Def::Many { of } => self.function(of),
            _ => self.function(sym),
        }
    }

    /// Returns the repeated symbol and its count; a symbol that is not a loop is itself, once.
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
