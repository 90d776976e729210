//! Which word was meant.

/// The one candidate of which `word` is a misspelling: one letter in four may be wrong. A wrong guess is worse than none,
/// so there is none if two are as near, or if another one begins the word: `tls-cacert` is as likely `tls-ca`.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mistakes = |candidate: &'a str| (strsim::osa_distance(word, candidate), candidate);
    let mut near: Vec<_> = candidates.into_iter().map(mistakes).collect();
    let beginning =
        near.iter().map(|(_, candidate)| *candidate).find(|candidate| word.starts_with(candidate));
    near.retain(|(mistakes, candidate)| mistakes * 4 <= candidate.chars().count());
    near.sort_unstable();
    match near.as_slice() {
        [(first, _), (second, _), ..] if first == second => None,
        [(_, candidate), ..] => {
            Some(*candidate).filter(|&candidate| beginning.is_none_or(|begins| begins == candidate))
        }
        [] => None,
    }
}

/// The one candidate that `word` is the beginning of, or else a misspelling.
pub fn nearest_or_longer<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const SHORTEST: usize = 4;
    let candidates: Vec<_> = candidates.into_iter().collect();
    let longer: Vec<_> = candidates.iter().copied().filter(|candidate| candidate.starts_with(word)).collect();
    match longer.as_slice() {
        [candidate] if word.len() >= SHORTEST => Some(candidate),
        [_, _, ..] => None,
        _ => nearest(word, candidates),
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
            ("timeouts", Some("timeout")),
            ("tls-certs", Some("tls-cert")),
            ("tls-cacert", None),
            ("hosts", None),
            ("name", None),
            ("all", None),
            ("wait", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, options), meant, "{word}");
        }
        assert_eq!(nearest("lead", ["load", "read"]), None);
        for (word, meant) in
            [("time", Some("timeout")), ("tls-c", None), ("tiemout", Some("timeout")), ("zo", None)]
        {
            assert_eq!(nearest_or_longer(word, options), meant, "{word}");
        }
    }
}
