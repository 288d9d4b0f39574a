package policy

// Verdict is what a rule or a policy says about an ask. As the kind of a rule it
// is what the rule demands.
type Verdict string

// The verdicts, from the mildest.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Stage is what in the order of decision gave the verdict.
type Stage string

// The stages that a policy knows.
const (
	// ByRule: a rule matched.
	ByRule Stage = "rule"
	// ByMode: the session's mode decided.
	ByMode Stage = "mode"
	// ByDefault: nothing matched.
	ByDefault Stage = "default"
)

// Explanation is a verdict with its reasons.
type Explanation struct {
	Verdict Verdict `json:"verdict"`
	// Rule is the rule or mode that decided, empty when none did.
	Rule string `json:"rule,omitzero"`
	// Parts are what the ask consists of, in the order in which they stand.
	Parts []Part `json:"parts"`
	// Why says what the parts do not.
	Why string `json:"why,omitzero"`
	// Stage is what decided.
	Stage Stage `json:"-"`
}

// Part is one command, file, address or tool that an ask is about.
type Part struct {
	Command string  `json:"command"`
	Verdict Verdict `json:"verdict"`
	Rule    string  `json:"rule,omitzero"`
	Why     string  `json:"why,omitzero"`
}
