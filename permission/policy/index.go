package policy

import (
	"slices"
	"strings"
)

// toolIndex finds the rules that are about a tool.
type toolIndex struct {
	byTool map[string]*ruleList
	// mcp is about every MCP tool, other about every tool that byTool lacks.
	mcp, other *ruleList
}

// ruleList are rules about one tool in their order, and by what they are about.
type ruleList struct {
	all []*Rule
	// whole are those about every use of the tool.
	whole []*Rule
	// bySegment are those of which every pattern is about paths with a certain
	// element, like **/node_modules/**; general are all the others. The numbers are
	// positions in all.
	bySegment map[string][]int
	general   []int
}

func (l *ruleList) add(r *Rule) {
	at := len(l.all)
	l.all = append(l.all, r)
	if r.any {
		l.whole = append(l.whole, r)
	}
	segments, ok := r.segments()
	if !ok {
		l.general = append(l.general, at)
		return
	}
	if l.bySegment == nil {
		l.bySegment = map[string][]int{}
	}
	for _, s := range segments {
		l.bySegment[s] = append(l.bySegment[s], at)
	}
}

// first is the first rule that matches it.
func (l *ruleList) first(it *item, a *Analysis) *Rule {
	best := len(l.all)
	try := func(list []int) {
		for _, at := range list {
			if at >= best {
				return
			}
			if r := l.all[at]; r.applies(a) && r.matchesThing(it, a) {
				best = at
				return
			}
		}
	}
	try(l.general)
	if it.place != nil && len(l.bySegment) > 0 {
		// Rules that allow compare the real path as it is, the others all of them
		// folded.
		for _, list := range [...][]string{it.place.real, it.place.wide} {
			for _, path := range list {
				for path != "" {
					var segment string
					segment, path, _ = strings.Cut(path, "/")
					try(l.bySegment[segment])
				}
			}
		}
	}
	if best == len(l.all) {
		return nil
	}
	return l.all[best]
}

// segments are elements of paths of which one is in every path that r matches; ok is
// false when that cannot be told.
func (r *Rule) segments() (list []string, ok bool) {
	if r.any || len(r.paths) == 0 {
		return nil, false
	}
	for i := range r.paths {
		p := &r.paths[i]
		glob := p.glob
		if r.Kind != Allow {
			glob = p.wide
		}
		s := literalSegment(glob)
		if s == "" || p.linked != "" {
			return nil, false
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list, true
}

// literalSegment is the longest element of glob without a wildcard that every match
// has as an element, "" when none is found easily.
func literalSegment(glob string) string {
	if i := strings.IndexAny(glob, `[{\`); i >= 0 {
		// What stands in braces may hold a "/", and be left out.
		glob = glob[:strings.LastIndexByte(glob[:i], '/')+1]
	}
	best := ""
	for segment := range strings.SplitSeq(glob, "/") {
		if len(segment) > len(best) && !strings.ContainsAny(segment, "*?") {
			best = segment
		}
	}
	return best
}

func indexTools(list []*Rule) toolIndex {
	// anyFile is no tool: what lacks rules about files has no others for it.
	x := toolIndex{byTool: map[string]*ruleList{anyFile: {}}, mcp: &ruleList{}, other: &ruleList{}}
	tools := []string{"bash", "read", "write", "edit", "delete", "move", "notebook-edit", "view-image", "grep", "web-fetch", "network-access"}
	for _, r := range list {
		if !slices.Contains(tools, r.tool) {
			tools = append(tools, r.tool)
		}
	}
	add := func(tool string, r *Rule) {
		if x.byTool[tool] == nil {
			x.byTool[tool] = &ruleList{}
		}
		x.byTool[tool].add(r)
	}
	for _, r := range list {
		for _, tool := range tools {
			if r.covers(tool) {
				add(tool, r)
			}
		}
		if len(r.paths) > 0 && !r.any {
			add(anyFile, r)
		}
		if r.tool == "mcp" || r.tool == "*" {
			x.mcp.add(r)
		}
		if r.tool == "*" {
			x.other.add(r)
		}
	}
	return x
}

func (x *toolIndex) about(tool string) *ruleList {
	if strings.HasPrefix(tool, "mcp/") {
		return x.mcp
	}
	if list := x.byTool[tool]; list != nil {
		return list
	}
	return x.other
}

// listed are the rules of a kind that speak about a tool.
func (p *Policy) listed(kind Verdict, tool string) *ruleList {
	switch kind {
	case Deny:
		return p.denies.about(tool)
	case Ask:
		return p.asks.about(tool)
	}
	return p.allows.about(tool)
}

// things are the rules of a kind that speak about a tool, in their order.
func (p *Policy) things(kind Verdict, tool string) []*Rule { return p.listed(kind, tool).all }
