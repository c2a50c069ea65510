//! The global definitions of an archive, `NAME.def`. They come in any order, and ids are sparse.
//!
//! Source: OTF2 3.0.2, `src/OTF2_GlobalDefReader_inc.c`.

use std::collections::BTreeMap;
use std::io::Read;

use crate::bytes::{ByteReader, UNDEFINED};
use crate::chunk::{Chunks, Record, Records};
use crate::error::Otf2Error;

/// The paradigm of MPI.
const MPI: u8 = 4;

/// The relevant definitions, by id.
#[derive(Default, Debug)]
pub(crate) struct Definitions {
    pub(crate) clock: ClockProperties,
    strings: BTreeMap<u32, String>,
    nodes: BTreeMap<u32, SystemNode>,
    pub(crate) location_groups: BTreeMap<u32, LocationGroup>,
    pub(crate) locations: BTreeMap<u64, Location>,
    regions: BTreeMap<u32, Region>,
    /// By id and type, as an id may be used for groups of several types.
    groups: BTreeMap<(u32, u8), Group>,
    pub(crate) communicators: BTreeMap<u32, Communicator>,
    metric_members: BTreeMap<u32, MetricMember>,
    metric_classes: BTreeMap<u32, Vec<u32>>,
    /// The class of each instance.
    metric_instances: BTreeMap<u32, u32>,
    /// The region of each calling context.
    pub(crate) calling_contexts: BTreeMap<u32, u32>,
}

/// The clock of all timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClockProperties {
    /// Ticks in a second.
    pub(crate) ticks_per_second: u64,
    /// The tick at which the run begins.
    pub(crate) offset: u64,
    /// Nanoseconds from the epoch to the offset, if known.
    pub(crate) epoch_ns: Option<u64>,
}

#[derive(Debug)]
struct SystemNode {
    name: u32,
    class: u32,
    parent: u32,
}

/// A process or an accelerator.
#[derive(Debug)]
pub(crate) struct LocationGroup {
    pub(crate) kind: u8,
    node: u32,
    /// The process that uses an accelerator.
    pub(crate) creator: u32,
}

/// A thread, a stream of an accelerator, or a source of metrics.
#[derive(Debug)]
pub(crate) struct Location {
    name: u32,
    pub(crate) kind: u8,
    pub(crate) num_events: u64,
    pub(crate) group: u32,
}

#[derive(Debug)]
struct Region {
    name: u32,
    file: u32,
    line: u32,
}

#[derive(Debug)]
struct Group {
    paradigm: u8,
    members: Vec<u64>,
}

/// A communicator.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Communicator {
    /// One within a group.
    Within(u32),
    /// One between two groups.
    Between(u32, u32),
}

#[derive(Debug)]
struct MetricMember {
    name: u32,
    unit: u32,
}

/// The relevant types of groups.
pub(crate) mod group_type {
    /// The locations of a paradigm, in the order of its ranks.
    pub(crate) const COMM_LOCATIONS: u8 = 4;
    /// Ranks among the locations of the paradigm.
    pub(crate) const COMM_GROUP: u8 = 5;
}

impl Default for ClockProperties {
    fn default() -> Self {
        Self {
            ticks_per_second: 1_000_000_000,
            offset: 0,
            epoch_ns: None,
        }
    }
}

impl Definitions {
    /// Reads a file of global definitions.
    pub(crate) fn read(file: impl Read, chunk_bytes: usize) -> Result<Self, Otf2Error> {
        let mut definitions = Self::default();
        let mut chunks = Chunks::new(file, chunk_bytes);
        loop {
            let at = chunks.num_bytes_read;
            match chunks.advance() {
                Ok(true) => {}
                Ok(false) => return Ok(definitions),
                Err(_) => return Err(Otf2Error::Definitions(at)),
            }
            let damaged = || Otf2Error::Definitions(at);
            let mut records = Records::of_chunk(chunks.bytes()).ok_or_else(damaged)?;
            loop {
                match records.next_definition() {
                    Record::Of(kind, values) => {
                        definitions.take_in(kind, values).ok_or_else(damaged)?;
                    }
                    Record::End => break,
                    Record::Damaged => return Err(damaged()),
                }
            }
        }
    }

    /// Processes one record; `None` if it is damaged.
    fn take_in(&mut self, kind: u8, mut values: ByteReader<'_>) -> Option<()> {
        let it = &mut values;
        match kind {
            5 => {
                let (ticks_per_second, offset, _length) = (it.u64()?, it.u64()?, it.u64()?);
                let epoch_ns = it.u64().filter(|ns| *ns != u64::MAX);
                self.clock = ClockProperties {
                    ticks_per_second: ticks_per_second.max(1),
                    offset,
                    epoch_ns,
                };
            }
            10 => {
                self.strings.insert(it.u32()?, it.text()?);
            }
            12 => {
                let id = it.u32()?;
                let (name, class, parent) = (it.u32()?, it.u32()?, it.u32()?);
                let node = SystemNode {
                    name,
                    class,
                    parent,
                };
                self.nodes.insert(id, node);
            }
            13 => {
                let (id, _name, kind, node) = (it.u32()?, it.u32()?, it.u8()?, it.u32()?);
                let creator = it.u32().unwrap_or(UNDEFINED);
                let group = LocationGroup {
                    kind,
                    node,
                    creator,
                };
                self.location_groups.insert(id, group);
            }
            14 => {
                let id = it.u64()?;
                let (name, kind, num_events, group) = (it.u32()?, it.u8()?, it.u64()?, it.u32()?);
                let location = Location {
                    name,
                    kind,
                    num_events,
                    group,
                };
                self.locations.insert(id, location);
            }
            15 => {
                let (id, name, _description, _kind) = (it.u32()?, it.u32()?, it.u32()?, it.u8()?);
                let (file, line) = (it.u32()?, it.u32()?);
                self.regions.insert(id, Region { name, file, line });
            }
            _ => return self.take_in_rest(kind, values),
        }
        Some(())
    }

    fn take_in_rest(&mut self, kind: u8, mut values: ByteReader<'_>) -> Option<()> {
        let it = &mut values;
        match kind {
            18 => {
                let (id, _name, old_type) = (it.u32()?, it.u32()?, it.u8()?);
                let num_members = it.u32()?;
                // Not collected with a capacity: the number may be damaged.
                let members = (0..num_members).map(|_| it.u64()).collect::<Option<_>>()?;
                let group_type = it.u8().unwrap_or(old_type);
                let paradigm = it.u8().unwrap_or(MPI);
                let group = Group { paradigm, members };
                self.groups.insert((id, group_type), group);
            }
            19 => {
                let (id, name, _description) = (it.u32()?, it.u32()?, it.u32()?);
                let _kinds = [it.u8()?, it.u8()?, it.u8()?, it.u8()?];
                let _exponent = it.i64()?;
                let unit = it.u32()?;
                self.metric_members.insert(id, MetricMember { name, unit });
            }
            20 => {
                let (id, num_members) = (it.u32()?, it.u8()?);
                let members = (0..num_members).map(|_| it.u32()).collect::<Option<_>>()?;
                self.metric_classes.insert(id, members);
            }
            21 => {
                self.metric_instances.insert(it.u32()?, it.u32()?);
            }
            22 => {
                let (id, _name, group) = (it.u32()?, it.u32()?, it.u32()?);
                self.communicators.insert(id, Communicator::Within(group));
            }
            43 => {
                let (id, _name, a, b) = (it.u32()?, it.u32()?, it.u32()?, it.u32()?);
                self.communicators.insert(id, Communicator::Between(a, b));
            }
            34 => {
                self.calling_contexts.insert(it.u32()?, it.u32()?);
            }
            _ => {}
        }
        Some(())
    }

    /// Returns a text, if it is not empty.
    pub(crate) fn text(&self, id: u32) -> Option<&str> {
        let text = self.strings.get(&id)?;
        (!text.is_empty()).then_some(text)
    }

    /// Returns the name of a region, with its source file and line, if it has one.
    pub(crate) fn region_name(&self, id: u32) -> Option<String> {
        let region = self.regions.get(&id)?;
        let name = self.text(region.name)?;
        let has_place = name.ends_with(']') && name.contains(" [{");
        match self.text(region.file).filter(|_| !has_place) {
            Some(file) if region.line != UNDEFINED && region.line > 0 => {
                Some(format!("{name} [{{{file}}} {{{},0}}]", region.line))
            }
            _ => Some(name.to_owned()),
        }
    }

    /// Returns the names of the metrics of a class, or of the class of an instance.
    pub(crate) fn metric_names(&self, id: u32) -> Option<Vec<String>> {
        let class = self.metric_classes.get(&id);
        let class = class.or_else(|| self.metric_classes.get(self.metric_instances.get(&id)?))?;
        let name = |member: &u32| {
            let member = self.metric_members.get(member);
            let name = member.and_then(|it| self.text(it.name)).unwrap_or("metric");
            match member.and_then(|it| self.text(it.unit)) {
                Some(unit) if unit != "#" => format!("{name} ({unit})"),
                _ => name.to_owned(),
            }
        };
        Some(class.iter().map(name).collect())
    }

    /// Returns the name of a location.
    pub(crate) fn location_name(&self, location: &Location) -> &str {
        self.text(location.name).unwrap_or_default()
    }

    /// Returns the name of the host of a process: of the nearest node of the system tree with the class `node`.
    pub(crate) fn host(&self, process: u32) -> Option<&str> {
        let mut next = self.location_groups.get(&process)?.node;
        // A damaged tree may have cycles.
        for _ in 0..self.nodes.len() {
            let node = self.nodes.get(&next)?;
            if self.text(node.class) == Some("node") {
                return self.text(node.name);
            }
            next = node.parent;
        }
        None
    }

    /// Returns the members of a group of some type.
    pub(crate) fn group(&self, id: u32, group_type: u8) -> Option<&[u64]> {
        let group = self.groups.get(&(id, group_type))?;
        Some(&group.members)
    }

    /// Returns the locations of MPI's ranks, in the order of the ranks.
    pub(crate) fn mpi_locations(&self) -> Option<&[u64]> {
        let groups = self.groups.iter();
        let mut of_ranks = groups.filter(|((_, kind), _)| *kind == group_type::COMM_LOCATIONS);
        let of_mpi = of_ranks.find(|(_, group)| group.paradigm == MPI)?;
        Some(&of_mpi.1.members)
    }
}
