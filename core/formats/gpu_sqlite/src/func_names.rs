//! Names of functions: those in rows, and those that rows name by the id of a string.

use std::collections::{BTreeSet, HashMap};

use callgrove_model::{
    FuncId, HostWait, MAX_NAME_BYTES, NameTable, WarningKind, Warnings, communication_kernel,
};
use callgrove_source::RecordedName;

use crate::database::{Database, MAX_TEXT_BYTES, Relation};

/// Number of ids whose strings are read at once. Ids are dense, so that one lookup serves many rows.
const BLOCK_IDS: i64 = 1024;
/// Number of bytes that names may have in the smallest file, which need not contain them.
const MIN_NAME_BYTES: u64 = 1 << 16;
/// The name of functions beyond the names that the file can contain.
const TOO_MANY_NAMES: &str = "(too many names)";
/// Part of the names of kernels for messages between two ranks.
const POINT_TO_POINT: &str = "SendRecv";

/// The location of the strings of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StringTable {
    pub(crate) table: &'static str,
    pub(crate) value: &'static str,
}

/// What follows from the name of a function.
#[derive(Clone, Copy, Debug)]
struct NameClass {
    /// It is a kernel of a collective operation.
    is_collective: bool,
    host_wait: Option<HostWait>,
}

/// Function names, with caches by the ids of strings.
pub(crate) struct FuncNames {
    pub(crate) table: NameTable<FuncId>,
    strings: StringTable,
    funcs: HashMap<i64, FuncId>,
    texts: HashMap<i64, Box<str>>,
    blocks: BTreeSet<i64>,
    /// For each function, what follows from its name.
    classes: Vec<NameClass>,
    /// Number of bytes that further names may have. A view can return more than its file has.
    bytes_left: u64,
}

impl FuncNames {
    /// Returns the names of a file of this size.
    pub(crate) fn new(strings: StringTable, num_bytes: u64) -> Self {
        Self {
            table: NameTable::default(),
            strings,
            funcs: HashMap::new(),
            texts: HashMap::new(),
            blocks: BTreeSet::new(),
            classes: Vec::new(),
            bytes_left: num_bytes.max(MIN_NAME_BYTES),
        }
    }

    /// Returns the function of a recorded name, without the arguments in it.
    pub(crate) fn intern(&mut self, recorded: &str) -> FuncId {
        // The names of functions are not split further.
        if let Some(func) = self.table.get(recorded) {
            return func;
        }
        let name = &*RecordedName::parse(recorded).function;
        if let Some(func) = self.table.get(name) {
            return func;
        }
        let size_bytes = u64::try_from(name.len().min(MAX_NAME_BYTES)).unwrap_or(u64::MAX);
        let name = match self.bytes_left.checked_sub(size_bytes) {
            Some(left) => {
                self.bytes_left = left;
                name
            }
            None => TOO_MANY_NAMES,
        };
        let func = self.table.intern(name);
        if func.index() >= self.classes.len() {
            self.classes.push(NameClass {
                is_collective: is_collective(name),
                host_wait: HostWait::of_name(name),
            });
        }
        func
    }

    /// Returns whether a function is a kernel of a collective operation.
    pub(crate) fn is_collective(&self, func: FuncId) -> bool {
        let class = self.classes.get(func.index());
        class.is_some_and(|it| it.is_collective)
    }

    /// Returns what an API call of a function waits for.
    pub(crate) fn host_wait(&self, func: FuncId) -> Option<HostWait> {
        self.classes.get(func.index())?.host_wait
    }

    /// Returns the function whose name has the id of a string. An unknown id is counted and becomes part of the name.
    #[inline]
    pub(crate) fn of_id(
        &mut self,
        id: i64,
        database: &Database,
        warnings: &mut Warnings,
    ) -> FuncId {
        match self.funcs.get(&id) {
            Some(func) => *func,
            None => self.find(id, database, warnings),
        }
    }

    fn find(&mut self, id: i64, database: &Database, warnings: &mut Warnings) -> FuncId {
        let name = self.text(id, database, warnings).unwrap_or_else(|| {
            let text = || format!("string {id}: {}", database.path().display());
            warnings.count(WarningKind::UnknownName, None, text);
            format!("string {id}")
        });
        let func = self.intern(&name);
        self.funcs.insert(id, func);
        func
    }

    /// Returns the string of an id, if it is known and not empty.
    pub(crate) fn text(
        &mut self,
        id: i64,
        database: &Database,
        warnings: &mut Warnings,
    ) -> Option<String> {
        let block = id.div_euclid(BLOCK_IDS);
        if self.blocks.insert(block) {
            // A block that cannot be read has no strings, which the caller counts.
            let read = self.read_block(block, database, warnings);
            if let Err(error) = read {
                let place = || format!("{}: {error}", self.strings.table);
                warnings.count(WarningKind::StreamTruncated, None, place);
            }
        }
        let text = self.texts.get(&id)?;
        (!text.is_empty()).then(|| text.to_string())
    }

    fn read_block(
        &mut self,
        block: i64,
        database: &Database,
        warnings: &mut Warnings,
    ) -> rusqlite::Result<()> {
        let StringTable { table, value } = self.strings;
        let first = block.saturating_mul(BLOCK_IDS);
        let last = first.saturating_add(BLOCK_IDS - 1);
        if database.relations.get(table) != Some(&Relation::Table) {
            return Ok(());
        }
        // A longer text, such as the output of a program, is not a name.
        let sql = format!(
            "select id, case when octet_length({value}) < {MAX_TEXT_BYTES} then {value} end from {table} \
             where id between ?1 and ?2"
        );
        let mut statement = database.connection().prepare(&sql)?;
        let mut rows = statement.query([first, last])?;
        while let Some(row) = rows.next()? {
            let Ok(id) = row.get_ref(0)?.as_i64() else {
                continue;
            };
            let bytes = row.get_ref(1)?.as_bytes_or_null().ok().flatten();
            let text = String::from_utf8_lossy(bytes.unwrap_or_default());
            if matches!(text, std::borrow::Cow::Owned(_)) {
                let place = || format!("string {id} of {table}");
                warnings.count(WarningKind::TextChanged, None, place);
            }
            self.texts.insert(id, text.into());
        }
        Ok(())
    }
}

/// Returns whether a kernel of this name carries out a collective operation.
fn is_collective(name: &str) -> bool {
    communication_kernel(name).is_some_and(|operation| !operation.contains(POINT_TO_POINT))
}
