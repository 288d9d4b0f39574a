package config

import (
	"fmt"
	"strings"

	"github.com/agenthost/agenthost/internal/slip"
)

// suggest names the known word that got is a slip of, empty when none is near.
func suggest(got string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		d := slip.Distance(plain(got), plain(k))
		if d < least && d < len(k) {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// plain makes state_dir, statedir and stateDir the same.
func plain(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}
