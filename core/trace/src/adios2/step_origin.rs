//! Where the steps of a stream come from: ADIOS2, or a folder's files alone.

use std::time::Duration;

use callgrove_adios2_sys::{Adios2Error, AdiosEngine, StepStatus, Variable};

use super::stored_attributes::StoredAttributes;

/// Where the steps of a stream come from.
#[derive(Debug)]
pub(super) enum StepOrigin {
    /// What is not known from the folder's index is asked of ADIOS2.
    Adios2(AdiosEngine),
    /// The index knows of each step all that TAU writes, but for the attributes, which are here until they are taken in.
    Files(StoredAttributes),
}

impl StepOrigin {
    /// The engine, if there is anything left to ask.
    pub(super) fn engine(&self) -> Option<&AdiosEngine> {
        match self {
            Self::Adios2(engine) => Some(engine),
            Self::Files(_) => None,
        }
    }

    /// A variable that is left to ask for, if the step has it, and the engine that reads it.
    pub(super) fn variable(
        &self,
        name: &str,
    ) -> Result<Option<(&AdiosEngine, Variable<'_>)>, Adios2Error> {
        match self {
            Self::Adios2(engine) => Ok(engine.io().variable(name)?.map(|it| (engine, it))),
            Self::Files(_) => Ok(None),
        }
    }

    /// Whether the step has a variable, as far as there is an engine to ask.
    pub(super) fn has_variables(&self) -> Result<bool, Adios2Error> {
        let Self::Adios2(engine) = self else {
            return Ok(true);
        };
        // Variables of other steps are listed too, but found only in their own.
        for variable in engine.io().variables()? {
            if engine.io().variable(variable.name())?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Goes to the next step if it is there. In files it is, as far as the index tells of steps.
    pub(super) fn begin_step(&mut self) -> Result<StepStatus, Adios2Error> {
        match self {
            Self::Adios2(engine) => engine.begin_step(Duration::ZERO),
            Self::Files(attributes) => {
                attributes.begin_step();
                Ok(StepStatus::Ok)
            }
        }
    }

    /// Ends the step.
    pub(super) fn end_step(&mut self) -> Result<(), Adios2Error> {
        match self {
            Self::Adios2(engine) => engine.end_step(),
            Self::Files(_) => Ok(()),
        }
    }

    /// Forgets the attributes that were taken in.
    pub(super) fn forget_attributes(&mut self) -> Result<(), Adios2Error> {
        match self {
            Self::Adios2(engine) => engine.forget_attributes(),
            Self::Files(attributes) => {
                attributes.forget();
                Ok(())
            }
        }
    }
}
