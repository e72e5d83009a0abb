//! Albums: messages with one file each that belong together.

use crate::update::{BotUpdate, ChatMessage};

/// Updates that are handled as one: a tap, a message, or the messages of an album.
#[derive(Clone, Debug)]
pub(crate) struct UpdateGroup {
    /// The id of the first update.
    pub(crate) first: i64,
    /// The updates, in the order of their ids.
    pub(crate) updates: Vec<BotUpdate>,
}

impl UpdateGroup {
    pub(crate) fn messages(&self) -> Vec<&ChatMessage> {
        let messages = self.updates.iter();
        messages
            .filter_map(|update| update.message.as_ref())
            .collect()
    }
}

/// Groups updates, in the order of each group's first update.
pub(crate) fn gather(mut updates: Vec<BotUpdate>) -> Vec<UpdateGroup> {
    updates.sort_by_key(|update| update.update_id);
    updates.dedup_by_key(|update| update.update_id);
    let mut groups: Vec<UpdateGroup> = Vec::new();
    for update in updates {
        let album = album_of(&update);
        let same = groups
            .iter_mut()
            .find(|group| album.is_some() && album_of(&group.updates[0]) == album);
        match same {
            Some(group) => group.updates.push(update),
            None => groups.push(UpdateGroup {
                first: update.update_id,
                updates: vec![update],
            }),
        }
    }
    groups
}

/// Counts the updates that belong to albums.
pub(crate) fn album_members(updates: &[BotUpdate]) -> usize {
    updates.iter().filter(|it| album_of(it).is_some()).count()
}

fn album_of(update: &BotUpdate) -> Option<(i64, &str)> {
    let message = update.message.as_ref()?;
    Some((message.chat.id, message.media_group_id.as_deref()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn update(id: i64, chat: i64, album: Option<&str>) -> BotUpdate {
        let message = json!({"message_id": id, "chat": {"id": chat}, "media_group_id": album});
        serde_json::from_value(json!({"update_id": id, "message": message})).unwrap()
    }

    #[test]
    fn the_files_of_an_album_are_one_group() {
        let updates = vec![
            update(5, 1, None),
            update(3, 1, Some("a")),
            update(2, 1, Some("a")),
            update(4, 2, Some("a")),
            update(6, 1, Some("a")),
            update(6, 1, Some("a")),
        ];
        assert_eq!(album_members(&updates), 5);
        let groups = gather(updates);
        let ids = |group: &UpdateGroup| {
            let ids = group.updates.iter().map(|update| update.update_id);
            (group.first, ids.collect::<Vec<_>>())
        };
        let ids: Vec<_> = groups.iter().map(ids).collect();
        assert_eq!(ids, [(2, vec![2, 3, 6]), (4, vec![4]), (5, vec![5])]);
        assert_eq!(groups[0].messages().len(), 3);
    }
}
