package config

import (
	"fmt"

	"github.com/agenthost/agenthost/internal/slip"
)

// suggest names the known word that got is a slip of, empty when none is near.
func suggest(got string, known []string) string {
	if near := slip.Nearest(got, known); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}
