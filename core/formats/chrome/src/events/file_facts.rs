//! The facts that a file states about itself, next to its events.

use std::collections::BTreeMap;

use crate::json::{JsonCursor, JsonValue};

/// Facts about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileFacts {
    /// The time to which each time is relative, in nanoseconds since the epoch (`baseTimeNanoseconds`).
    pub(crate) base_ns: i64,
    /// The rank of the process.
    pub(crate) rank: Option<u32>,
    /// The number of ranks of the job.
    pub(crate) num_ranks: Option<u32>,
    /// True if Kineto wrote the file, according to its keys.
    pub(crate) is_of_kineto: bool,
    /// True if Callgrove wrote the file.
    pub(crate) is_own: bool,
    pub(crate) host: Option<String>,
    /// The names of the GPUs by their numbers.
    pub(crate) devices: BTreeMap<i64, String>,
}

impl FileFacts {
    /// Returns whether the value of a key is one of these facts.
    pub(crate) fn needs(key: &[u8]) -> bool {
        let keys: [&[u8]; 9] = [
            b"callgrove",
            b"baseTimeNanoseconds",
            b"deviceProperties",
            b"distributedInfo",
            b"hostname",
            b"host_name",
            b"Hostname",
            b"host",
            b"schemaVersion",
        ];
        keys.contains(&key)
    }

    /// Adds the value of a key.
    pub(crate) fn add(&mut self, key: &[u8], value: JsonValue<'_>) {
        match key {
            b"baseTimeNanoseconds" => self.base_ns = value.integer().unwrap_or_default(),
            b"distributedInfo" => {
                self.is_of_kineto = true;
                self.add_job(value);
            }
            b"deviceProperties" => {
                self.is_of_kineto = true;
                self.add_devices(value);
            }
            b"schemaVersion" => self.is_of_kineto = true,
            b"callgrove" => self.is_own = true,
            _ => {
                if let JsonValue::Text(text) = value {
                    self.host = Some(text.decoded().text.into_owned());
                }
            }
        }
    }

    fn add_job(&mut self, value: JsonValue<'_>) {
        for_members(value, |key, value| {
            let number = value.integer().and_then(|it| u32::try_from(it).ok());
            match key {
                b"rank" => self.rank = number,
                b"world_size" => self.num_ranks = number,
                _ => {}
            }
        });
    }

    fn add_devices(&mut self, value: JsonValue<'_>) {
        let JsonValue::Nested(array) = value else {
            return;
        };
        // The brackets match; other damage is left out.
        let _damage = JsonCursor::new(array).elements(|device| {
            let (mut number, mut name) = (None, None);
            for_members(device, |key, value| match (key, value) {
                (b"id", _) => number = value.integer(),
                (b"name", JsonValue::Text(text)) => name = Some(text.decoded().text),
                _ => {}
            });
            if let (Some(number), Some(name)) = (number, name) {
                self.devices.insert(number, name.into_owned());
            }
        });
    }
}

/// Calls `each` with the keys and values of an object.
pub(crate) fn for_members<'a>(value: JsonValue<'a>, each: impl FnMut(&'a [u8], JsonValue<'a>)) {
    if let JsonValue::Nested(object) = value {
        // The brackets match; other damage is left out.
        let _damage = JsonCursor::new(object).members(each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_devices_are_found_among_other_values() {
        let mut facts = FileFacts::default();
        let mut add = |key: &str, text: &str| {
            assert!(FileFacts::needs(key.as_bytes()));
            let value = JsonCursor::new(text.as_bytes()).value();
            facts.add(key.as_bytes(), value.unwrap_or_default());
        };
        add(
            "distributedInfo",
            r#"{"backend": "nccl", "rank":3, "pg_config": [{"ranks": [0, 1]}], "world_size": "8"}"#,
        );
        add(
            "deviceProperties",
            r#"[{"id": 0, "name": "A"}, {"name": "B", "id": 1}]"#,
        );
        add("baseTimeNanoseconds", "1711964646000000000 ");
        assert_eq!((facts.rank, facts.num_ranks), (Some(3), Some(8)));
        assert_eq!(facts.devices.len(), 2);
        assert_eq!(facts.base_ns, 1_711_964_646_000_000_000);
    }
}
