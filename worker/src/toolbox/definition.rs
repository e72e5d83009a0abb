//! The definition of a tool: its spec for the model, and the schema of its arguments.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use shared::schema::Schema;
use shared::tool::ToolName;
use worker_model::ToolSpec;
use worker_tool::Tool;

/// The definition of a tool.
#[derive(Clone)]
pub(super) struct ToolDefinition {
    pub(super) spec: Arc<ToolSpec>,
    pub(super) schema: Schema,
}

/// The definitions of tools without secrets. All jobs of a worker share them, because they are large.
#[derive(Default)]
pub(crate) struct ToolDefinitions {
    by_name: Mutex<HashMap<ToolName, ToolDefinition>>,
}

/// The reason why a toolbox cannot be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolboxError {
    #[error("the tool {0} is listed twice")]
    Duplicate(ToolName),
    #[error("the schema of the tool {tool} is not valid: {problem}")]
    Schema { tool: ToolName, problem: String },
}

impl ToolDefinition {
    pub(super) fn of(name: ToolName, tool: &dyn Tool) -> Result<Self, ToolboxError> {
        let spec = tool.spec();
        match Schema::compile(spec.input_schema.clone()) {
            Ok(schema) => Ok(Self {
                spec: Arc::new(spec),
                schema,
            }),
            Err(problem) => Err(ToolboxError::Schema {
                tool: name,
                problem,
            }),
        }
    }
}

impl ToolDefinitions {
    /// Returns the definition of a tool without secrets.
    pub(super) fn get(
        &self,
        name: ToolName,
        tool: &dyn Tool,
    ) -> Result<ToolDefinition, ToolboxError> {
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(definition) = by_name.get(&name) {
            return Ok(definition.clone());
        }
        let definition = ToolDefinition::of(name, tool)?;
        by_name.insert(name, definition.clone());
        Ok(definition)
    }
}
