// Package contracttest generates envelopes and streams for property tests of
// those who handle them: arbitrary ones for codecs, valid streams for folds,
// journals and relays.
//
// It is for tests only and depends on pgregory.net/rapid.
package contracttest
