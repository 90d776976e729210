//! Which word was meant.

/// The one candidate of which `word` is a misspelling: one letter in four may be wrong. A wrong guess is worse than none,
/// so there is none if two are as near.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mistakes = |candidate: &'a str| (strsim::osa_distance(word, candidate), candidate);
    let mut near: Vec<_> = candidates.into_iter().map(mistakes).collect();
    near.retain(|(mistakes, candidate)| mistakes * 4 <= candidate.chars().count());
    near.sort_unstable();
    match near.as_slice() {
        [(first, _), (second, _), ..] if first == second => None,
        [(_, candidate), ..] => Some(candidate),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_misspelling_is_guessed() {
        let options = ["slots", "naming", "acl", "watch", "timeout", "tls-ca", "tls-cert", "zookeeper"];
        for (word, meant) in [
            ("tiemout", Some("timeout")),
            ("zokeeper", Some("zookeeper")),
            ("slot", Some("slots")),
            ("hosts", None),
            ("name", None),
            ("all", None),
            ("wait", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, options), meant, "{word}");
        }
        assert_eq!(nearest("lead", ["load", "read"]), None);
    }
}
