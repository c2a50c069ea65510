//! Batched reads, which let the engine fetch several variables together.

use std::ffi::c_void;

use crate::api::check;
use crate::element::Element;
use crate::engine::{AdiosEngine, expect_len};
use crate::error::Adios2Error;
use crate::variable::Variable;

/// `adios2_mode_deferred`: the read happens when the reads are performed.
const DEFERRED: i32 = 4;

/// Reads collected by [`AdiosEngine::gets`], executed by [`Gets::perform`].
///
/// Nothing reaches ADIOS2 before that, so that it never holds the address of a freed buffer.
#[derive(Debug)]
pub struct Gets<'a> {
    engine: &'a AdiosEngine,
    reads: Vec<Read<'a>>,
}

/// A variable and the memory for its selection.
#[derive(Debug)]
struct Read<'a> {
    variable: &'a Variable<'a>,
    buffer: &'a mut [u8],
    element_bytes: usize,
}

impl AdiosEngine {
    /// Starts a list of reads to be executed together.
    pub fn gets(&self) -> Gets<'_> {
        Gets {
            engine: self,
            reads: Vec::new(),
        }
    }
}

impl<'a> Gets<'a> {
    /// Adds a read of the variable's selection.
    ///
    /// # Errors
    /// [`Adios2Error::WrongType`]; [`Adios2Error::Call`] if the variable's type is unavailable.
    pub fn add<T: Element>(
        &mut self,
        variable: &'a Variable<'a>,
        buffer: &'a mut [T],
    ) -> Result<(), Adios2Error> {
        self.engine.expect_own(variable, T::TYPE)?;
        let element_bytes = size_of::<T>();
        // SAFETY: the same memory, borrowed for the same time, as the bytes that it consists of; an
        // `Element` is a plain number, for which every pattern of bytes that ADIOS2 writes is valid.
        let buffer = unsafe {
            std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast::<u8>(), size_of_val(buffer))
        };
        self.reads.push(Read {
            variable,
            buffer,
            element_bytes,
        });
        Ok(())
    }

    /// Executes all the reads.
    ///
    /// # Errors
    /// [`Adios2Error::WrongLength`] if a buffer does not fit its variable's selection, before any read;
    /// [`Adios2Error::Call`] if ADIOS2 cannot read, after which the engine is unusable.
    pub fn perform(self) -> Result<(), Adios2Error> {
        for read in &self.reads {
            expect_len(read.variable, read.buffer.len() / read.element_bytes)?;
        }
        let engine = self.engine;
        let api = engine.io().api();
        engine.calling(|raw| {
            for read in self.reads {
                let data = read.buffer.as_mut_ptr().cast::<c_void>();
                // SAFETY: engine and variable are alive and belong together; the buffer has the type and
                // the length of the selection and stays borrowed until the reads are performed below, or
                // the engine is never called again.
                let code = unsafe { (api.get)(raw, read.variable.raw(), data, DEFERRED) };
                check(code, "get", read.variable.name())?;
            }
            // SAFETY: the engine is alive, and so are the buffers.
            let code = unsafe { (api.perform_gets)(raw) };
            check(code, "perform_gets", engine.name())
        })
    }
}
