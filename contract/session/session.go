package session

import "time"

// Session is the platform-owned view of one agent session. It is the unit a
// client lists, opens, and renders. Agent/model switches and compaction are
// carried as Message transcript entries, not side-band fields here.
type Session struct {
	ID          string     `json:"id"`
	WorkspaceID string     `json:"workspaceId"`
	ParentID    string     `json:"parentId,omitempty"`
	Title       string     `json:"title,omitempty"`
	AgentID     string     `json:"agentId,omitempty"`
	Model       *ModelRef  `json:"model,omitempty"`
	Status      Status     `json:"status"`
	Cost        *Cost      `json:"cost,omitempty"`
	Time        *TimeRange `json:"time,omitempty"`
	Summary     string     `json:"summary,omitempty"`
	Archived    bool       `json:"archived,omitempty"`
}

// Status is the lifecycle state of an agent session.
type Status string

// The values of Status.
const (
	StatusUnknown    Status = "unknown"
	StatusIdle       Status = "idle"
	StatusBusy       Status = "busy"
	StatusError      Status = "error"
	StatusCompacting Status = "compacting"
	StatusArchived   Status = "archived"
)

// TimeRange bounds a session or message. CompletedAt is nil while busy.
type TimeRange struct {
	StartedAt   time.Time  `json:"startedAt"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`
}
