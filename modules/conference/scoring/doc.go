// Package scoring asks for an opinion on a proposed session: six criteria, a penalty, and the reasons in words.
//
// Whoever gives the opinion is a [Scorer]. There are two:
//
//   - [Offline], the default, needs no key and no network. It counts words and sentences, says so in its
//     reasoning, and understands nothing. It exists so that everything around it can be run and tested.
//   - [NewAnthropic] asks a language model.
//
// What counts is computed here and not asked for: [Score.Overall] weighs the criteria, takes the penalty off and
// stays within 1.0 to 10.0. A model that is talked into "overall: 10" has nowhere to write it.
//
// A model is a stranger on both sides of the call. What it reads was written by people who want a high score: the
// text goes into an envelope that it cannot close (envelope.go), and without what is not needed for an opinion. The
// speaker's name is never sent, and is taken out of the text where it stands there in full; so are mail addresses
// and telephone numbers. What the model answers is read as strictly as a request from outside (answer.go): an
// answer with a field too many, a criterion out of range or an end that is missing is a failed call, never a guess.
// The reasoning is text that a stranger may have steered; show it as text, and decide nothing by it.
//
// # Failures
//
//	code                   kind          again?  what happened
//	scoring.refused        invalid       no      the model declines to judge this text
//	scoring.too_long       invalid       no      the text is beyond the budget of a call; nothing was asked
//	scoring.unparseable    unavailable   few     the answer was cut off, or is not what was asked for; it was paid for
//	scoring.timeout        unavailable   yes     no whole answer within the time limit
//	scoring.unavailable    unavailable   yes     overloaded (529), broken (5xx), or not to be reached
//	scoring.rate_limited   rate_limited  yes     too much, too soon (429)
//	scoring.misconfigured  internal      not now key, account, model or address are wrong (any other 3xx or 4xx)
//
// The invalid ones mark this one session as failed and let the pass go on: asking again would pay for the same
// answer. The others are worth another attempt by fault.Retryable, after RetryAfter where the service said so; no
// scorer tries again by itself, so that one call is at most one paid request, and the queue alone decides about the
// next. scoring.misconfigured fails every session alike: end the pass with it. When the caller's context ends, the
// error wraps the context's and has no kind.
//
// # Provenance
//
// A score names its model and its prompt: name, version, and the hash of the text. prompt.md cannot change without
// a new version, because a test compares it with what is written down in testdata/prompts.txt. A score is up to
// date when both Model and Prompt equal those of the scorer.
//
// The files in reading order: score.go, offline.go, prompt.md, prompt.go, envelope.go, answer.go, anthropic.go,
// failure.go, metrics.go.
package scoring
