//! `/docs/guides`: the guides of the repository as pages.

use actix_web::web::Path;
use actix_web::{HttpResponse, get};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::layout::page;
use crate::problem::ApiError;

/// A guide: its name in URLs, and its Markdown.
type Guide = (&'static str, &'static str);

/// The guides, in reading order.
const GUIDES: [Guide; 18] = [
    ("quickstart", include_str!("../../../docs/quickstart.md")),
    ("jobs", include_str!("../../../docs/jobs.md")),
    ("skills", include_str!("../../../docs/skills.md")),
    ("agents", include_str!("../../../docs/agents.md")),
    ("schedules", include_str!("../../../docs/schedules.md")),
    ("webhooks", include_str!("../../../docs/webhooks.md")),
    ("clients", include_str!("../../../docs/clients.md")),
    ("telegram", include_str!("../../../docs/telegram.md")),
    ("cli", include_str!("../../../docs/cli.md")),
    ("budgets", include_str!("../../../docs/budgets.md")),
    (
        "configuration",
        include_str!("../../../docs/configuration.md"),
    ),
    ("operating", include_str!("../../../docs/operating.md")),
    ("scaling", include_str!("../../../docs/scaling.md")),
    ("security", include_str!("../../../docs/security.md")),
    (
        "troubleshooting",
        include_str!("../../../docs/troubleshooting.md"),
    ),
    ("eval", include_str!("../../../docs/eval.md")),
    ("performance", include_str!("../../../docs/performance.md")),
    ("comparison", include_str!("../../../docs/comparison.md")),
];

/// Lists the guides.
#[get("/guides")]
pub(crate) async fn list_guides() -> HttpResponse {
    let items = GUIDES.iter().map(|(name, markdown)| {
        let title = escape(title(markdown));
        format!("<li><a href=\"/docs/guides/{name}\">{title}</a></li>")
    });
    let items: String = items.collect();
    page("Guides", &format!("<h1>Guides</h1><ul>{items}</ul>"))
}

/// Shows a guide.
#[get("/guides/{name}")]
pub(crate) async fn get_guide(name: Path<String>) -> Result<HttpResponse, ApiError> {
    let guide = GUIDES.iter().find(|(it, _)| *it == *name);
    let (_, markdown) = guide.ok_or(ApiError::NotFound("path"))?;
    Ok(page(&escape(title(markdown)), &render(markdown)))
}

/// Returns the first heading of a guide.
fn title(markdown: &str) -> &str {
    let heading = markdown.lines().find_map(|line| line.strip_prefix("# "));
    heading.unwrap_or_default()
}

/// Renders a guide as HTML, with an anchor at each heading.
fn render(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut events: Vec<_> = Parser::new_ext(markdown, options)
        .filter_map(adapt)
        .collect();
    for start in 0..events.len() {
        if matches!(events[start], Event::Start(Tag::Heading { .. })) {
            let words = heading_text(&events[start + 1..]);
            if let Event::Start(Tag::Heading { id, .. }) = &mut events[start] {
                *id = Some(anchor(&words).into());
            }
        }
    }
    let mut rendered = String::new();
    html::push_html(&mut rendered, events.into_iter());
    rendered
}

/// Adapts a Markdown event to this service. Links to guides lead to their pages here, and links to other files of the
/// repository lead to the list of guides. Raw HTML is removed, and images are reduced to their text, because images are
/// not served.
fn adapt(event: Event<'_>) -> Option<Event<'_>> {
    match event {
        Event::Html(_) | Event::InlineHtml(_) => None,
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => Some(Event::Start(Tag::Link {
            link_type,
            dest_url: target(&dest_url).into(),
            title,
            id,
        })),
        event => Some(event),
    }
}

/// Returns the target of a link on this service.
fn target(link: &str) -> String {
    let (path, place) = link.split_once('#').unwrap_or((link, ""));
    let place = if place.is_empty() {
        String::new()
    } else {
        format!("#{place}")
    };
    match path {
        "" => place,
        "../openapi/openapi.json" => "/openapi.json".to_owned(),
        path if path.starts_with("https://") || path.starts_with("http://") => link.to_owned(),
        path => {
            let name = path.strip_suffix(".md").filter(|name| !name.contains('/'));
            name.map_or_else(
                || "/docs/guides".to_owned(),
                |name| format!("/docs/guides/{name}{place}"),
            )
        }
    }
}

/// Returns the text of the heading at the beginning of `events`.
fn heading_text(events: &[Event<'_>]) -> String {
    let within = events
        .iter()
        .take_while(|it| !matches!(it, Event::End(TagEnd::Heading(_))));
    let texts = within.filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text),
        _ => None,
    });
    texts.map(CowStr::as_ref).collect()
}

/// Returns the anchor of a heading, in the format of Git hosts.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|char| char.is_alphanumeric() || " -_".contains(*char));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_anchors_and_links_lead_to_pages() {
        let html = render(
            "# A `b` c\n\n[x](jobs.md#wait) [y](#a-b-c) [z](../bench/peers) <script>1</script>\n",
        );
        assert!(html.contains("<h1 id=\"a-b-c\">"), "{html}");
        assert!(html.contains("href=\"/docs/guides/jobs#wait\""), "{html}");
        assert!(html.contains("href=\"#a-b-c\"") && html.contains("href=\"/docs/guides\""));
        assert!(!html.contains("<script>"));
    }

    #[test]
    fn every_link_between_guides_leads_to_a_heading() {
        for (name, markdown) in GUIDES {
            assert!(!title(markdown).is_empty(), "{name}");
            let html = render(markdown);
            for link in html.split("href=\"/docs/guides/").skip(1) {
                let link = link.split('"').next().unwrap();
                let (page, place) = link.split_once('#').unwrap_or((link, ""));
                let target = GUIDES.iter().find(|(it, _)| *it == page);
                let (_, target) = target.unwrap_or_else(|| panic!("{name}: {link}"));
                let id = format!("id=\"{place}\"");
                assert!(
                    place.is_empty() || render(target).contains(&id),
                    "{name}: {link}"
                );
            }
        }
    }
}
