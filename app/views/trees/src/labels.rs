//! Placement of names next to discs, without overlaps.

use egui::{Pos2, Rect, Vec2};

/// Gap between a disc and its name, in points.
const NAME_GAP: f32 = 5.0;

/// A request for the name of a disc.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct NameRequest {
    pub(super) centre: Pos2,
    pub(super) radius: f32,
    /// Size of the laid-out name.
    pub(super) size: Vec2,
}

/// Places the names, in the order of their requests; `None` for a name without a free place. A place is inside the
/// disc if it is large enough, else next to, below or above it; it is inside `area` and overlaps neither earlier names
/// nor other discs of `discs`.
pub(super) fn place_labels(
    requests: &[NameRequest],
    discs: &[(Pos2, f32)],
    area: Rect,
) -> Vec<Option<Rect>> {
    let mut taken: Vec<Rect> = Vec::new();
    let place = |request: &NameRequest| {
        let is_free = |rect: Rect| {
            let hides_disc = |&(centre, radius): &(Pos2, f32)| {
                centre != request.centre && rect.distance_to_pos(centre) < radius
            };
            let hides_name = |other: &Rect| other.expand(1.0).intersects(rect);
            area.contains_rect(rect)
                && !taken.iter().any(hides_name)
                && !discs.iter().any(hides_disc)
        };
        let found = candidates(request).find(|&rect| is_free(rect));
        taken.extend(found);
        found
    };
    requests.iter().map(place).collect()
}

/// Returns whether a place is inside its disc.
pub(crate) fn is_inside(request: &NameRequest, rect: Rect) -> bool {
    rect.center().distance(request.centre) < 1.0
}

fn candidates(request: &NameRequest) -> impl Iterator<Item = Rect> + use<> {
    let NameRequest {
        centre,
        radius,
        size,
    } = *request;
    let fits_inside = size.length() / 2.0 < radius;
    let inside = fits_inside.then_some(Vec2::ZERO);
    let (aside, away) = (
        radius + size.x / 2.0 + NAME_GAP,
        radius + size.y / 2.0 + 2.0,
    );
    let outside = [
        (1.0, 0.0),
        (-1.0, 0.0),
        (0.0, 1.0),
        (0.0, -1.0),
        (0.7, 0.8),
        (-0.7, 0.8),
        (0.7, -0.8),
        (-0.7, -0.8),
    ]
    .map(|(x, y)| Vec2::new(x * aside, y * away));
    inside
        .into_iter()
        .chain(outside)
        .map(move |offset| Rect::from_center_size(centre + offset, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Rect = Rect {
        min: Pos2::ZERO,
        max: Pos2::new(400.0, 300.0),
    };

    fn request(x: f32, y: f32, radius: f32) -> NameRequest {
        NameRequest {
            centre: Pos2::new(x, y),
            radius,
            size: Vec2::new(60.0, 12.0),
        }
    }

    #[test]
    fn a_large_disc_has_its_name_inside_and_a_small_one_next_to_it() {
        let requests = [request(100.0, 100.0, 40.0), request(100.0, 200.0, 5.0)];
        let places = place_labels(&requests, &[], AREA);
        assert!(is_inside(&requests[0], places[0].expect("a place inside")));
        assert!(places[1].expect("a place outside").left() > 105.0);
    }

    #[test]
    fn names_never_overlap_and_stay_inside() {
        let requests: Vec<NameRequest> = (0..300)
            .map(|k| {
                request(
                    (k * 37 % 400) as f32,
                    (k * 53 % 300) as f32,
                    (k % 50) as f32,
                )
            })
            .collect();
        let placed: Vec<Rect> = place_labels(&requests, &[], AREA)
            .into_iter()
            .flatten()
            .collect();
        assert!(placed.len() > 20, "{} placed", placed.len());
        for (at, rect) in placed.iter().enumerate() {
            assert!(AREA.contains_rect(*rect));
            assert!(placed[..at].iter().all(|other| !other.intersects(*rect)));
        }
    }

    #[test]
    fn a_name_does_not_lie_on_another_disc() {
        let neighbour = (Pos2::new(140.0, 200.0), 25.0);
        let small = request(100.0, 200.0, 5.0);
        let places = place_labels(&[small], &[neighbour, (small.centre, small.radius)], AREA);
        assert_eq!(
            places[0].map(|rect| rect.right()),
            Some(90.0),
            "to the left, since the right is taken"
        );
    }

    #[test]
    fn the_first_request_gets_its_place() {
        let places = place_labels(
            &[request(100.0, 100.0, 40.0), request(100.0, 100.0, 40.0)],
            &[],
            AREA,
        );
        assert_eq!(
            places[0].map(|rect| rect.center()),
            Some(Pos2::new(100.0, 100.0))
        );
        assert!(places[1].is_some_and(|rect| rect.center() != Pos2::new(100.0, 100.0)));
    }
}
