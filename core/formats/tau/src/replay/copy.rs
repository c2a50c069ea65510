//! Copies one step from one engine to another, with all its contents.

use std::collections::BTreeSet;

use callgrove_adios2_sys::{Adios2Error, AdiosEngine, Attribute, DataType, Variable};

use crate::adios2::{ARRAYS, begin_step, put};

/// The contents of a step, and the names written before it.
#[derive(Debug, Default)]
pub(super) struct Copier {
    variables: Vec<StoredVariable>,
    attributes: Vec<(String, Values)>,
    /// Names of the attributes that were already part of a step.
    known: BTreeSet<String>,
    defined: BTreeSet<String>,
}

/// A variable of a step.
#[derive(Debug)]
struct StoredVariable {
    name: String,
    /// Empty for a single value.
    shape: Vec<usize>,
    values: Values,
}

macro_rules! values {
    ($($kind:ident($rust:ty)),*) => {
        /// Numbers or a text, as stored.
        #[derive(Debug)]
        enum Values {
            Text(String),
            $($kind(Vec<$rust>),)*
        }

        impl Values {
            /// Returns all values of a variable; `None` if the wrapper does not support the type.
            fn of_variable(engine: &AdiosEngine, variable: &Variable<'_>) -> Result<Option<Self>, Adios2Error> {
                Ok(match variable.data_type()? {
                    $(DataType::$kind => {
                        let mut values = vec![<$rust>::default(); variable.selection_len()?];
                        engine.get(variable, &mut values)?;
                        Some(Self::$kind(values))
                    })*
                    DataType::String | DataType::Other => None,
                })
            }

            fn of_attribute(attribute: &Attribute<'_>) -> Result<Option<Self>, Adios2Error> {
                Ok(match attribute.data_type()? {
                    $(DataType::$kind => Some(Self::$kind(attribute.numbers()?)),)*
                    DataType::String => Some(Self::Text(attribute.text()?)),
                    DataType::Other => None,
                })
            }

            fn define_attribute(&self, engine: &AdiosEngine, name: &str) -> Result<(), Adios2Error> {
                match self {
                    Self::Text(text) => engine.io().define_text_attribute(name, text),
                    $(Self::$kind(values) => engine.io().define_attribute(name, values),)*
                }
            }

            fn put(&self, engine: &AdiosEngine, name: &str, shape: &[usize]) -> Result<(), Adios2Error> {
                match self {
                    $(Self::$kind(values) => put(engine, name, values, shape),)*
                    // Variables are never read as text.
                    Self::Text(_) => Ok(()),
                }
            }

            fn data_type(&self) -> DataType {
                match self {
                    Self::Text(_) => DataType::String,
                    $(Self::$kind(_) => DataType::$kind,)*
                }
            }
        }
    };
}
values!(
    F32(f32),
    F64(f64),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64)
);

impl Copier {
    /// Processes the current step of `engine`. Attributes of earlier steps that were not written are kept.
    pub(super) fn read(&mut self, engine: &AdiosEngine) -> Result<(), Adios2Error> {
        self.variables.clear();
        for variable in engine.io().variables()? {
            if !is_in_step(engine, variable.name())? {
                continue;
            }
            let shape = variable.shape()?;
            if !shape.is_empty() {
                variable.set_selection(&vec![0; shape.len()], &shape)?;
            }
            // TAU uses no type that the wrapper does not support.
            if let Some(values) = Values::of_variable(engine, &variable)? {
                self.variables.push(StoredVariable {
                    name: variable.name().to_owned(),
                    shape,
                    values,
                });
            }
        }
        for attribute in engine.io().attributes()? {
            let name = attribute.name()?;
            if !self.known.contains(&name)
                && let Some(values) = Values::of_attribute(&attribute)?
            {
                self.attributes.push((name.clone(), values));
                self.known.insert(name);
            }
        }
        Ok(())
    }

    /// Writes the contents as one step.
    pub(super) fn write(&mut self, engine: &mut AdiosEngine) -> Result<(), Adios2Error> {
        begin_step(engine)?;
        for (name, values) in &self.attributes {
            values.define_attribute(engine, name)?;
        }
        for StoredVariable {
            name,
            shape,
            values,
        } in &self.variables
        {
            if !self.defined.contains(name) {
                let start = vec![0; shape.len()];
                engine
                    .io()
                    .define_variable(name, values.data_type(), shape, &start, shape)?;
                self.defined.insert(name.clone());
            }
            values.put(engine, name, shape)?;
        }
        self.attributes.clear();
        engine.end_step()
    }

    /// Returns the time of the newest event of the step, in µs.
    pub(super) fn newest_us(&self) -> Option<u64> {
        let arrays = ARRAYS.iter().filter_map(|(_, name, columns)| {
            let array = self.variables.iter().find(|it| it.name == *name)?;
            match &array.values {
                Values::U64(cells) => cells
                    .chunks_exact(*columns)
                    .map(|row| row[columns - 1])
                    .max(),
                _ => None,
            }
        });
        arrays.max()
    }
}

/// Returns whether the step has a variable. TAU omits arrays without rows, and ADIOS2 then lists those of the step
/// before.
fn is_in_step(engine: &AdiosEngine, name: &str) -> Result<bool, Adios2Error> {
    let Some((count, ..)) = ARRAYS.iter().find(|(_, array, _)| *array == name) else {
        return Ok(true);
    };
    match engine.io().variable(count)? {
        Some(count) => Ok(engine.get_value::<u64>(&count)? > 0),
        None => Ok(true),
    }
}
