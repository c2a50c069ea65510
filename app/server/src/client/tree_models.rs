//! Requests for the tree models of a running job.

use std::time::Duration;

use callgrove_pserver::{ModelInForce, ModelPublication, TreeModelList};

use super::{Client, ClientError};
use crate::api::{ModelVersion, Published};

impl Client {
    /// Returns the tree models of the run, and the AD instances that have them.
    ///
    /// # Errors
    /// If the server cannot be reached, refuses, or is not a parameter server.
    pub fn tree_models(&self) -> Result<TreeModelList, ClientError> {
        self.get("/api/tree-models", &[], Duration::ZERO)
    }

    /// Returns one version of a tree model; `None` selects the version in force.
    ///
    /// # Errors
    /// As [`tree_models`](Self::tree_models), and if there is no such model.
    pub fn tree_model(
        &self,
        name: &str,
        version: Option<u32>,
    ) -> Result<ModelVersion, ClientError> {
        let mut parameters = vec![("name", name.to_owned())];
        parameters.extend(version.map(|version| ("version", version.to_string())));
        self.get("/api/tree-model", &parameters, Duration::ZERO)
    }

    /// Publishes a tree model and returns its version, which survives a restart of the server.
    ///
    /// # Errors
    /// As [`tree_models`](Self::tree_models), and if the model is invalid.
    pub fn publish_tree_model(&self, publication: &ModelPublication) -> Result<u32, ClientError> {
        let published: Published = self.send("/api/tree-models", publication)?;
        Ok(published.version)
    }

    /// Puts a version of a tree model in force again, or takes the model out of force. Returns the version that was in
    /// force before.
    ///
    /// # Errors
    /// As [`tree_model`](Self::tree_model).
    pub fn put_in_force(&self, wanted: &ModelInForce) -> Result<Option<u32>, ClientError> {
        let before: ModelInForce = self.send("/api/tree-models/in-force", wanted)?;
        Ok(before.version)
    }
}
