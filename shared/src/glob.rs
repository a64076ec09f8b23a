//! Matching names against the patterns an operator writes, such as `orders.*`.

/// Whether `text` as a whole matches `pattern`.
///
/// `*` stands for any run of characters (none included), `?` for exactly one; every other character
/// stands for itself, with case. There is no escape and there are no character classes: channel and
/// secret names seldom hold `*` or `?`, and a `?` still matches itself.
///
/// Takes time proportional to the product of the two lengths at worst, never exponential.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // Where to resume when the characters after the latest `*` turn out not to match: that star may
    // always swallow one more character, and earlier stars never need to be revisited.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            Some(_) | None => match retry {
                Some((star, swallowed)) => {
                    p = star + 1;
                    t = swallowed + 1;
                    retry = Some((star, t));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;
    use proptest::prelude::*;

    #[test]
    fn stars_and_question_marks_match_what_they_say() {
        let table = [
            ("*", "", true),
            ("*", "orders.ship", true),
            ("", "", true),
            ("", "a", false),
            ("orders.*", "orders.ship", true),
            ("orders.*", "orders.", true),
            ("orders.*", "orders", false),
            ("*.ship", "orders.eu.ship", true),
            ("o*.s*p", "orders.ship", true),
            ("o*.s*p", "orders.ships", false),
            ("order?", "orders", true),
            ("order?", "order", false),
            ("?", "é", true),
            ("Orders", "orders", false),
            ("a.c", "abc", false),
            ("**a**", "bab", true),
            ("*ab", "aab", true),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(matches(pattern, text), expected, "{pattern:?} on {text:?}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_does_not_explode() {
        let pattern = "a*".repeat(50) + "b";
        assert!(!matches(&pattern, &"a".repeat(2_000)));
    }

    proptest! {
        #[test]
        fn a_name_without_wildcards_matches_itself_only(name in "[a-z.]{0,20}", other in "[a-z.]{0,20}") {
            prop_assert!(matches(&name, &name));
            prop_assert_eq!(matches(&name, &other), name == other);
        }

        #[test]
        fn a_star_absorbs_anything(head in "[a-c]{0,8}", middle in "[a-c]{0,8}", tail in "[a-c]{0,8}") {
            let pattern = format!("{head}*{tail}");
            let text = format!("{head}{middle}{tail}");
            prop_assert!(matches(&pattern, &text));
        }
    }
}
