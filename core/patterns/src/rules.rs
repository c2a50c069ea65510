//! The grammar as it is shown: the symbols that are patterns, and the definition of each.
//!
//! A call or a sequence that occurs at least twice is a pattern. A sequence that is used in one place only, and not
//! as a loop, always has the same neighbours: it is merged into that place, so that patterns are as long as possible
//! (the slides' extension). A call or sequence that occurs once is written out event by event.

use callgrove_model::FuncId;

use super::symbols::{Body, Def, Sym, Symbols, index, number};

/// The kind of an item of a rule.
#[derive(Clone, Copy, Debug)]
pub(super) enum RulePart {
    Enter(FuncId),
    Leave(FuncId),
    Call(FuncId),
    Rule(u32),
}

/// An item of a rule; the items of all rules are in one list.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleItem {
    pub(super) part: RulePart,
    /// The symbol, which the walk compares with the lane to see whether a run continues.
    pub(super) sym: Sym,
    /// Repeat count; `None` if it varies.
    pub(super) times: Option<u32>,
}

/// A pattern.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrammarRule {
    pub(super) sym: Sym,
    /// The function, if the pattern is its call.
    pub(super) func: Option<FuncId>,
    pub(super) items: Body,
    pub(super) num_occurrences: u32,
}

/// The rules of a grammar.
#[derive(Default)]
pub(super) struct Rules {
    pub(super) items: Vec<RuleItem>,
    pub(super) patterns: Vec<GrammarRule>,
    /// The items of each lane.
    pub(super) roots: Vec<Body>,
}

/// The bodies of calls and lanes after factorisation.
pub(super) struct Factored {
    /// The body of each call, by symbol; empty for a symbol that is not a call.
    pub(super) bodies: Vec<Vec<Sym>>,
    /// The body of each lane.
    pub(super) roots: Vec<Vec<Sym>>,
    /// Number of executions of each symbol that is a call.
    pub(super) num_executions: Vec<u32>,
}

impl Rules {
    /// Creates the rules of all symbols that recur. Linear in the size of the grammar.
    pub(super) fn new(symbols: &Symbols, factored: &Factored) -> Self {
        let uses = Uses::count(symbols, factored);
        let mut rules = Self::default();
        let mut of_sym = vec![None; symbols.len()];
        for (place, of_sym) in of_sym.iter_mut().enumerate() {
            let sym = Sym(number(place));
            let func = match symbols.def(sym) {
                Def::Call { func, .. } => Some(func),
                Def::Pair(..) => None,
                _ => continue,
            };
            if uses.is_pattern(symbols, sym) {
                *of_sym = Some(number(rules.patterns.len()));
                rules.patterns.push(GrammarRule {
                    sym,
                    func,
                    items: Body { start: 0, end: 0 },
                    num_occurrences: uses.occurrences[place],
                });
            }
        }
        for place in 0..rules.patterns.len() {
            let sym = rules.patterns[place].sym;
            rules.patterns[place].items = rules.write(symbols, factored, &of_sym, &[sym], true);
        }
        for root in &factored.roots {
            let items = rules.write(symbols, factored, &of_sym, root, false);
            rules.roots.push(items);
        }
        rules
    }

    /// Writes out symbols until only patterns are left; the first one is always written out if `is_rule`.
    fn write(
        &mut self,
        symbols: &Symbols,
        factored: &Factored,
        of_sym: &[Option<u32>],
        start: &[Sym],
        mut is_rule: bool,
    ) -> Body {
        enum Task {
            Write(Sym),
            Leave(FuncId, Sym),
        }
        let first = number(self.items.len());
        let mut tasks: Vec<Task> = start.iter().rev().map(|&sym| Task::Write(sym)).collect();
        while let Some(task) = tasks.pop() {
            let sym = match task {
                Task::Write(sym) => sym,
                Task::Leave(func, sym) => {
                    self.push(RulePart::Leave(func), sym, Some(1));
                    continue;
                }
            };
            let (of, times) = match symbols.def(sym) {
                Def::Loop { of, times } => (of, Some(times)),
                Def::Many { of } => (of, None),
                _ => (sym, Some(1)),
            };
            let rule = of_sym[of.index()].filter(|_| !is_rule);
            is_rule = false;
            if let Some(rule) = rule {
                self.push(RulePart::Rule(rule), of, times);
                continue;
            }
            match symbols.def(of) {
                Def::Leaf(func) => self.push(RulePart::Call(func), of, times),
                Def::Call { func, .. } | Def::Open { func, .. } => {
                    self.push(RulePart::Enter(func), of, Some(1));
                    if symbols.can_recur(of) {
                        tasks.push(Task::Leave(func, of));
                    }
                    let body = factored.bodies[of.index()].iter();
                    tasks.extend(body.rev().map(|&sym| Task::Write(sym)));
                }
                Def::Pair(left, right) => {
                    tasks.push(Task::Write(right));
                    tasks.push(Task::Write(left));
                }
                // A loop of a loop is one loop.
                Def::Loop { .. } | Def::Many { .. } => {}
            }
        }
        Body {
            start: first,
            end: number(self.items.len()),
        }
    }

    fn push(&mut self, part: RulePart, sym: Sym, times: Option<u32>) {
        self.items.push(RuleItem { part, sym, times });
    }
}

/// The number of occurrences of each symbol in the trace, and of its uses in the grammar.
struct Uses {
    occurrences: Vec<u32>,
    /// Number of uses; 2 means two or more, and a loop counts as 2.
    places: Vec<u8>,
}

impl Uses {
    fn count(symbols: &Symbols, factored: &Factored) -> Self {
        let mut uses = Self {
            occurrences: factored.num_executions.clone(),
            places: vec![0; symbols.len()],
        };
        uses.occurrences.resize(symbols.len(), 0);
        for root in &factored.roots {
            uses.add_all(symbols, root, 1);
        }
        for (place, body) in factored.bodies.iter().enumerate() {
            let executions = factored.num_executions.get(place);
            uses.add_all(symbols, body, executions.copied().unwrap_or(0));
        }
        // Pairs and loops consist of symbols with lower numbers.
        for place in (0..symbols.len()).rev() {
            let occurrences = uses.occurrences[place];
            if occurrences == 0 {
                continue;
            }
            match symbols.def(Sym(number(place))) {
                Def::Pair(left, right) => {
                    uses.add(symbols, left, occurrences, 1);
                    uses.add(symbols, right, occurrences, 1);
                }
                Def::Loop { of, times } => {
                    uses.add(symbols, of, occurrences.saturating_mul(times), 2);
                }
                _ => {}
            }
        }
        uses
    }

    fn add_all(&mut self, symbols: &Symbols, body: &[Sym], occurrences: u32) {
        for &sym in body {
            self.add(symbols, sym, occurrences, 1);
        }
    }

    /// Executions of calls are counted already, so this counts only sequences and loops.
    fn add(&mut self, symbols: &Symbols, sym: Sym, occurrences: u32, places: u8) {
        let place = sym.index();
        if matches!(symbols.def(sym), Def::Pair(..) | Def::Loop { .. }) {
            self.occurrences[place] = self.occurrences[place].saturating_add(occurrences);
        }
        self.places[place] = self.places[place].saturating_add(places);
    }

    fn is_pattern(&self, symbols: &Symbols, sym: Sym) -> bool {
        let place = sym.index();
        let is_recurring = self.occurrences[place] >= 2;
        match symbols.def(sym) {
            Def::Pair(..) => is_recurring && self.places[place] >= 2,
            _ => is_recurring,
        }
    }
}

/// Returns the items of a rule or a lane.
pub(super) fn items_of(items: &[RuleItem], body: Body) -> &[RuleItem] {
    items
        .get(index(body.start)..index(body.end))
        .unwrap_or_default()
}
