# Targets for people and for CI, which calls nothing else.
export GOTOOLCHAIN := auto
GO      ?= go
TOOL    := $(GO) tool -modfile=tools/go.mod
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION) -X github.com/agenthost/agenthost/internal/early.Version=$(VERSION)
CGO     := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo 1 || echo 0)
AGENTS  := e2e/agents/node_modules/.package-lock.json

.PHONY: page demo build test check unit e2e race lint vuln fuzz bench schema golden agents clean newest

demo: build ## Build, install one real agent, run it, show its stream.
	demo/run.sh

build: ## The programs, in bin/. Without libc: they start in two thirds of the time.
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

test: lint race e2e ## Everything, including the real agents.

check: lint unit ## What to run before a commit: no real agents.

unit:
	$(GO) test $$($(GO) list ./... | grep -v /e2e)

race: ## Tests with the race detector, but for the adapters': no goroutine is in them, as internal/layers sees to, and they would take ten times as long.
	@[ "$$(CGO_ENABLED=$(CGO) $(GO) env CGO_ENABLED)" = 1 ] || echo "race: there is no C compiler, so the race detector is left out" >&2
	GORACE=atexit_sleep_ms=0 CGO_ENABLED=$(CGO) $(GO) test $$([ $(CGO) = 1 ] && echo -race) $$($(GO) list ./... | grep -v -e /e2e -e '/adapters$$' -e /adapters/)
	$(GO) test ./adapters/...

e2e: build agents ## The real agents against a scripted model; they mostly wait, so more at once than processors.
	$(GO) test -count=1 -timeout 25m -parallel 4 ./e2e/...

newest: build agents ## The newest Claude Code and Codex of the registry, where they are not the pinned ones; CLAUDE=VERSION, CODEX=VERSION.
	tools/newest.sh $(if $(CLAUDE),claude $(CLAUDE),$(if $(CODEX),codex $(CODEX)))

agents: $(AGENTS) ## Install the pinned real agents.

$(AGENTS): e2e/agents/package-lock.json
	cd e2e/agents && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

lint:
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) build ./...
	$(TOOL) staticcheck ./...
	@out=$$(git ls-files '*.go' | xargs $(TOOL) gofumpt -l) && test -z "$$out" || { echo "gofumpt: $$out" >&2; exit 1; }

vuln: ## Known vulnerabilities in what we build with.
	tools/vuln.sh

fuzz: ## A minute for each fuzz target.
	tools/fuzz.sh 60s

bench: ## Benchmarks; compare ratios within one run.
	$(GO) test -run '^$$' -bench . -benchmem $$($(GO) list ./...)

schema: ## Generate the JSON Schemas again.
	$(GO) generate ./contract/...

page: ## Fetch xterm.js, for the page of an agent's screen, again.
	relay/gateway/termpage/fetch.sh

golden: ## Write the golden files again; read the diff.
	$(GO) test $$(grep -rlE --include='*_test.go' 'Bool\("update"|adaptertest.Golden' . | xargs -n1 dirname | sort -u) -update

clean:
	rm -rf bin .cache
