//! Posts and their replies.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::draft::{Grower, WeightedName};
use super::planting::pick;

/// Kinds of posts; the first ones are frequent.
const POSTS: [WeightedName; 26] = [
    WeightedName::new("comment", 60.0, 0.35),
    WeightedName::new("question", 110.0, 0.35),
    WeightedName::new("answer", 90.0, 0.35),
    WeightedName::new("opinion", 70.0, 0.4),
    WeightedName::new("link", 80.0, 0.4),
    WeightedName::new("photo", 130.0, 0.45),
    WeightedName::new("joke", 100.0, 0.45),
    WeightedName::new("thanks", 30.0, 0.3),
    WeightedName::new("quote", 50.0, 0.35),
    WeightedName::new("poll", 120.0, 0.35),
    WeightedName::new("objection", 75.0, 0.4),
    WeightedName::new("correction", 55.0, 0.35),
    WeightedName::new("newcomer", 45.0, 0.35),
    WeightedName::new("offer", 85.0, 0.4),
    WeightedName::new("report", 65.0, 0.35),
    WeightedName::new("meeting", 95.0, 0.35),
    WeightedName::new("howto", 150.0, 0.4),
    WeightedName::new("moderator", 140.0, 0.3),
    WeightedName::new("code", 90.0, 0.4),
    WeightedName::new("summary", 105.0, 0.35),
    WeightedName::new("translation", 40.0, 0.35),
    WeightedName::new("video", 160.0, 0.45),
    WeightedName::new("review", 115.0, 0.35),
    WeightedName::new("music", 70.0, 0.45),
    WeightedName::new("recipe", 80.0, 0.4),
    WeightedName::new("obituary", 125.0, 0.4),
];
const QUESTION: usize = 1;
const POLL: usize = 9;
/// Posts of the forum itself: a hint with a source for each question, and a count for each poll.
const HINT: WeightedName = WeightedName::new("forum_hint", 40.0, 0.3);
const SOURCE: WeightedName = WeightedName::new("forum_source", 20.0, 0.3);
const COUNT: WeightedName = WeightedName::new("forum_count", 35.0, 0.3);
/// Rare by design: a post deleted by its author, joined threads, and news that everyone answers.
const DELETED: WeightedName = WeightedName::new("deleted", 15.0, 0.4);
const JOINED: WeightedName = WeightedName::new("joined_threads", 50.0, 0.3);
const NEWS: WeightedName = WeightedName::new("news", 300.0, 0.4);
const THANKS: usize = 7;

/// Exponent of the frequencies of kinds of posts.
const ZIPF: f64 = 1.4;
/// Exponent of the sizes of threads.
const SIZE_EXPONENT: f64 = 1.05;
const MAX_POSTS: usize = 300;
/// Fraction of pairs of kinds of which one never answers the other.
const SILENCE: f64 = 0.45;

/// The probabilities of replies.
pub(super) struct Forum {
    /// Probabilities of the kind of a reply, by kind of the post.
    replies: Vec<Vec<f64>>,
    /// Probabilities of the kind of the first post.
    first: Vec<f64>,
}

impl Forum {
    pub(super) fn draw(rng: &mut impl Rng) -> Self {
        let zipf: Vec<f64> = (1..=POSTS.len())
            .map(|rank| (rank as f64).powf(-ZIPF))
            .collect();
        let mut chances = |_| {
            let draw = |(kind, share): (usize, &f64)| {
                // Comments occur everywhere.
                let is_silent = kind > 0 && rng.random_bool(SILENCE);
                if is_silent {
                    0.0
                } else {
                    share * rng.random_range(0.3..3.0)
                }
            };
            zipf.iter().enumerate().map(draw).collect()
        };
        Self {
            replies: (0..POSTS.len()).map(&mut chances).collect(),
            first: zipf,
        }
    }

    pub(super) fn grow(&self, grower: &mut Grower<'_>) {
        if grower.chance(0.006) {
            let joined = grower.root(JOINED);
            for _ in 0..2 {
                let first = write_post(grower, Some(joined), &self.first);
                self.thread(grower, first);
            }
        } else if grower.chance(0.004) {
            let news = grower.root(NEWS);
            for _ in 0..grower.rng.random_range(30..120_u32) {
                grower.call(news, POSTS[THANKS]);
            }
        } else {
            let first = write_post(grower, None, &self.first);
            self.thread(grower, first);
        }
    }

    /// Adds replies to the first post, to the last one, or to a random one of the thread.
    fn thread(&self, grower: &mut Grower<'_>, first: (usize, usize)) {
        let mut posts = vec![first];
        for _ in 1..grower.heavy_tailed(1.6, SIZE_EXPONENT, MAX_POSTS) {
            let (post, kind) = match grower.rng.random_range(0..10_u32) {
                0..3 => first,
                3..6 => posts[posts.len() - 1],
                _ => posts[grower.rng.random_range(0..posts.len())],
            };
            if grower.chance(0.004) {
                grower.call(post, DELETED);
            } else {
                posts.push(write_post(grower, Some(post), &self.replies[kind]));
            }
        }
    }
}

/// Adds a post; returns its vertex and kind.
fn write_post(grower: &mut Grower<'_>, above: Option<usize>, chances: &[f64]) -> (usize, usize) {
    let kind = draw_kind(grower.rng, chances);
    let post = match above {
        Some(above) => grower.call(above, POSTS[kind]),
        None => grower.root(POSTS[kind]),
    };
    match kind {
        QUESTION => {
            let hint = grower.part(post, HINT);
            grower.part(hint, SOURCE);
        }
        POLL => {
            grower.part(post, COUNT);
        }
        _ => {}
    }
    (post, kind)
}

fn draw_kind(rng: &mut ChaCha8Rng, chances: &[f64]) -> usize {
    pick(rng, chances).unwrap_or(0)
}
