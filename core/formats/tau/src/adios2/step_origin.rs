//! The origin of the steps of a stream: ADIOS2, or a folder's files alone.

use std::time::Duration;

use callgrove_adios2_sys::{Adios2Error, AdiosEngine, StepStatus, Variable};

use super::stored_attributes::StoredAttributes;

/// The origin of the steps of a stream.
#[derive(Debug)]
pub(super) enum StepOrigin {
    /// ADIOS2 reads the contents that the folder's index does not describe.
    Adios2(AdiosEngine),
    /// The index describes all of TAU's data in each step except the attributes, which are here until they are read.
    FileSystem(StoredAttributes),
}

impl StepOrigin {
    /// Returns the engine, if ADIOS2 is needed.
    pub(super) fn engine(&self) -> Option<&AdiosEngine> {
        match self {
            Self::Adios2(engine) => Some(engine),
            Self::FileSystem(_) => None,
        }
    }

    /// Returns a variable of the current step that ADIOS2 has to read, if there is one, and the engine that reads it.
    pub(super) fn variable(
        &self,
        name: &str,
    ) -> Result<Option<(&AdiosEngine, Variable<'_>)>, Adios2Error> {
        match self {
            Self::Adios2(engine) => Ok(engine.io().variable(name)?.map(|it| (engine, it))),
            Self::FileSystem(_) => Ok(None),
        }
    }

    /// Returns whether the step has a variable, if ADIOS2 is needed.
    pub(super) fn has_variables(&self) -> Result<bool, Adios2Error> {
        let Self::Adios2(engine) = self else {
            return Ok(true);
        };
        // ADIOS2 also lists variables of other steps, but finds them only in their own.
        for variable in engine.io().variables()? {
            if engine.io().variable(variable.name())?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Goes to the next step if there is one. In files, the index states the number of steps.
    pub(super) fn begin_step(&mut self) -> Result<StepStatus, Adios2Error> {
        match self {
            Self::Adios2(engine) => engine.begin_step(Duration::ZERO),
            Self::FileSystem(attributes) => {
                attributes.begin_step();
                Ok(StepStatus::Ok)
            }
        }
    }

    /// Ends the step.
    pub(super) fn end_step(&mut self) -> Result<(), Adios2Error> {
        match self {
            Self::Adios2(engine) => engine.end_step(),
            Self::FileSystem(_) => Ok(()),
        }
    }

    /// Drops the attributes that were read.
    pub(super) fn forget_attributes(&mut self) -> Result<(), Adios2Error> {
        match self {
            Self::Adios2(engine) => engine.forget_attributes(),
            Self::FileSystem(attributes) => {
                attributes.forget();
                Ok(())
            }
        }
    }
}
