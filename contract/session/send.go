package session

// SendOpts parameterize a message send, including steering admission.
type SendOpts struct {
	Model     *ModelRef `json:"model,omitempty"`
	Admission Admission `json:"admission,omitempty"`
}

// Admission is a delivery mode on SendOpts (design 0049 §4.4). The zero value
// means an immediate/default send; steer injects at the next safe boundary
// without aborting in-flight tools; queue promotes when the agent would idle.
type Admission string

// The values of Admission.
const (
	AdmissionSteer Admission = "steer"
	AdmissionQueue Admission = "queue"
)
