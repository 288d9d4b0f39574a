package stamp

// maxEnded is how many calls a generation of endedCalls holds. When the newer one
// is full the older one is forgotten: an end that is told again after that many
// other calls is taken for a new call.
const maxEnded = 4096

// endedCalls remembers the session's ids of the newest calls that ended, between
// maxEnded and twice as many, over turns: an agent may tell an end again much later.
type endedCalls struct{ newer, older map[callKey]string }

func (e *endedCalls) add(key callKey, id string) {
	if len(e.newer) >= maxEnded {
		e.newer, e.older = map[callKey]string{}, e.newer
	}
	e.newer[key] = id
}

// get gives the id of the call that last ended under key, empty for none.
func (e *endedCalls) get(key callKey) string {
	if id := e.newer[key]; id != "" {
		return id
	}
	return e.older[key]
}
