//! The skills of an agent: their files in the workspace and their section of the system prompt. The agent reads a
//! `SKILL.md` when a task needs it.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use shared::db;
use shared::db::claim::Claimed;
use shared::skill::Skill;
use worker_workspace::Workspace;

use crate::packages::JobPackages;
use crate::skill;
use crate::worker_context::WorkerContext;

/// The folder of the skills in the workspace.
pub(crate) const SKILLS_FOLDER: &str = "skills";

/// The skills of an agent, as they are when an attempt starts.
#[derive(Default)]
pub(crate) struct AgentSkills {
    pub(crate) skills: Vec<Arc<Skill>>,
    /// The names of the skills that the tenant uploaded.
    uploaded: BTreeSet<String>,
    /// The names of skills that no longer exist.
    pub(crate) gone: Vec<String>,
}

impl AgentSkills {
    /// Loads the skills that the job's agent names. The tenant's own skill takes precedence over the worker's.
    pub(crate) async fn load(context: &WorkerContext, claimed: &Claimed) -> anyhow::Result<Self> {
        let agent = claimed.request.agent.as_ref();
        let names = agent.map_or(&[][..], |agent| &agent.settings.skills);
        let mut loaded = Self::default();
        if names.is_empty() {
            return Ok(loaded);
        }
        let stored = db::skill::list_by_name(&context.pool, claimed.tenant, names).await?;
        for name in names {
            if let Some(stored) = stored.iter().find(|stored| stored.name == *name) {
                let skill = skill::load_stored(context, name, &stored.digest).await?;
                loaded.skills.push(skill);
                loaded.uploaded.insert(name.clone());
            } else if let Some(skill) = context.catalog.get(name) {
                loaded.skills.push(skill.clone());
            } else {
                loaded.gone.push(name.clone());
            }
        }
        Ok(loaded)
    }

    /// Returns the skills that the tenant uploaded.
    pub(crate) fn uploaded(&self) -> impl Iterator<Item = &Arc<Skill>> {
        let skills = self.skills.iter();
        skills.filter(|skill| self.uploaded.contains(&skill.name))
    }

    /// Whether the agent has no skills.
    pub(crate) fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// Writes the files of the skills into a workspace that has no [`SKILLS_FOLDER`] yet. This blocks.
    pub(crate) fn stage(skills: &[Arc<Skill>], workspace: &Workspace) -> io::Result<()> {
        if !skills.is_empty() {
            workspace.create_directory(SKILLS_FOLDER, 0o755)?;
        }
        for skill in skills {
            let folder = format!("{SKILLS_FOLDER}/{}", skill.name);
            skill::stage_in(&folder, skill.files.iter(), workspace)?;
        }
        Ok(())
    }

    /// Whether a path in the workspace belongs to a skill.
    pub(crate) fn contains(path: &str) -> bool {
        let rest = path.strip_prefix(SKILLS_FOLDER);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns the section of the system prompt about the skills, or an empty string if there are none.
    pub(crate) async fn section(&self, context: &WorkerContext, packages: &JobPackages) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut lines = String::new();
        for skill in &self.skills {
            let needs: Vec<_> = skill
                .programs
                .iter()
                .chain(&skill.optional)
                .cloned()
                .collect();
            let mut installed = context.installed(&needs).await;
            if packages.has(skill) {
                installed.extend(skill.packages().cloned());
            }
            let missing = needs.iter().filter(|need| !need.is_met(&installed));
            let missing: Vec<_> = missing
                .map(|need| need.as_text().replace('|', " or "))
                .collect();
            let missing = match missing.join(", ") {
                none if none.is_empty() => none,
                names => format!(" Not installed here: {names}."),
            };
            let description = skill.description.split_whitespace();
            let description = description.collect::<Vec<_>>().join(" ");
            lines += &format!(
                "\n- `{SKILLS_FOLDER}/{}/SKILL.md`: {description}{missing}",
                skill.name
            );
        }
        format!(
            "\n\n# Skills\n\nA skill is a file of instructions for one kind of task. When a task matches one of these \
             descriptions, read the whole `SKILL.md` before you begin, and follow it. What it calls `skill/…`, and \
             files that it names without a folder, are in its own folder; leave them as they are. It gives you no \
             further tools, network or secrets.\n{lines}"
        )
    }
}
