# Everything that is done to this repository from a shell. `make help` lists it.

SHELL        := /bin/bash
.SHELLFLAGS  := -eu -o pipefail -c
.DEFAULT_GOAL := help

VERSION ?= 0.1.0-dev
GO      ?= go
# Reproducible binaries: no paths of this machine, no clock.
GOFLAGS_BUILD := -trimpath -ldflags '-s -w -X github.com/nuon-toolkit/nuon/pkg/version.Number=$(VERSION)'

# What is run from source is built like the programs, so that the build cache serves both.
RUN := CGO_ENABLED=0 $(GO) run -trimpath
# Without paths in them, the packages that tests build are shared by all clones on a machine. Nobody debugs the test programs, and without
# the tables for that they link faster. go vet is a part of make lint: here it would analyze all dependencies twice, with and without
# the race detector, which took a quarter of the processor time of a first run.
GOTEST := $(GO) test -trimpath -ldflags=-w -vet=off
# Of the packages with the race detector, as many as there are cores are tested side by side, and as many of those without: half of
# them wait for processes and servers. For the same reason more tests of one package run at once. The timeout only ends a hang. The
# packages that take longest start first, so that none of them is alone at the end.
CORES ?= $(or $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null),2)
LONGEST := $(addprefix ./examples/internal/,story apps replicas backup soak) $(addprefix ./runnerd/,kind/helm kind/terraform kind/kubernetes helmsdk) \
	./reconciler/rollout
# The heap of tests and of the linker may grow to five times what they use, not twice: that saves a sixth of their processor time.
COLLECTOR := GOGC=400
# -short leaves out the tests that take minutes. It also makes rapid draw a fifth of its samples, with half of the steps: so it is asked
# for 250 samples, to draw 50 of the usual 100, with twice the steps. make race LONG=1, and with it make soak, draws all.
SHORT := RAPID_CHECKS=250 RAPID_STEPS=60
BESIDE := -p $(CORES) -parallel $(shell echo $$((4 * $(CORES)))) -timeout 80m

# The Terraform that examples/hello asks for.
TERRAFORM := 1.11.4

# Tools are kept by version outside the repository, so that a clean clone does not build them again.
CACHE        ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nuon-tools
OAPI_CODEGEN := $(CACHE)/oapi-codegen-v2.8.2
SQLC         := $(CACHE)/sqlc-v1.31.1
GOLANGCI     := $(CACHE)/golangci-lint-v2.15.0
TOFU         := 1.12.6
OPENTOFU     := $(CACHE)/opentofu-v$(TOFU)
# What CloudFormation knows of resources, against which tests check templates.
AWS_SPEC     := $(CACHE)/aws-service-spec-0.1.216

.PHONY: help
help: ## Show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  \033[1m%-10s\033[0m %s\n", $$1, $$2}'

.PHONY: build
build: ## Build bin/nuon, bin/reconciler and bin/runnerd
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build $(GOFLAGS_BUILD) -o bin/nuon ./cli
	CGO_ENABLED=0 $(GO) build $(GOFLAGS_BUILD) -o bin/reconciler ./reconciler
	CGO_ENABLED=0 $(GO) build $(GOFLAGS_BUILD) -o bin/runnerd ./runnerd

# The architectures of the images of make images.
IMAGE_ARCHITECTURES := amd64 arm64

.PHONY: images
images: ## Build the images of reconciler and runnerd into OCI layouts in bin/images, and push them (PUSH=ghcr.io/acme/nuon VERSION=1.2.3)
	for architecture in $(IMAGE_ARCHITECTURES); do for program in reconciler runnerd; do \
		CGO_ENABLED=0 GOOS=linux GOARCH=$$architecture $(GO) build -buildvcs=false $(GOFLAGS_BUILD) \
			-o bin/linux-$$architecture/$$program ./$$program; \
	done; done
	@$(RUN) ./examples/internal/programimage -programs bin -version $(VERSION) -layout bin/images $(if $(PUSH),-push $(PUSH))

.PHONY: man
man: build ## Write the manual pages to bin/man (MANPATH=bin/man: man nuon)
	bin/nuon reference --format man --directory bin/man/man1

.PHONY: demo
demo: build ## Run the whole story on this machine: two installs, a push, approve, reject, kill -9, teardown (KEEP=1 leaves it running)
	@$(RUN) ./examples/internal/story -bin $(CURDIR)/bin $(if $(KEEP),-keep)

.PHONY: demo-shop
demo-shop: build ## Build the one-process Kubernetes (minutes the first time), then tell the shop's story on it
	@$(RUN) ./examples/internal/kubernetes/up -build >/dev/null
	@$(RUN) ./examples/internal/story -bin $(CURDIR)/bin $(if $(KEEP),-keep) shop

.PHONY: demo-cloud
demo-cloud: build ## Build the one-process Kubernetes (minutes the first time), then tell the story of an app on EKS in a simulated cloud
	@$(RUN) ./examples/internal/kubernetes/up -build >/dev/null
	@$(RUN) ./examples/internal/story -bin $(CURDIR)/bin $(if $(KEEP),-keep) eks

.PHONY: cluster
cluster: ## Start a private Kubernetes, print its kubeconfig, stay until Ctrl-C (DIR=… keeps its state)
	@$(RUN) ./examples/internal/kubernetes/up $(if $(DIR),-dir $(DIR))

.PHONY: cloud
cloud: ## Start a simulated cloud for Terraform, print its environment, stay until Ctrl-C (DIR=… keeps its objects, CLUSTER=… is the kubeconfig of a Kubernetes behind its clusters)
	@$(RUN) ./examples/internal/cloud/up $(if $(DIR),-dir $(DIR)) $(if $(CLUSTER),-kubeconfig $(CLUSTER))

.PHONY: apps
apps: build ## Install, update and remove the apps that NUON_CORPUS has, or three of ours, in a simulated cloud, and print how far each comes (APPS='-only a,b -parallel 2 -v -keep -o json')
	@NUON_BIN=$(CURDIR)/bin $(RUN) ./examples/internal/apps/run $(if $(NUON_CORPUS),-at-least 26,-at-least 3) $(APPS)

.PHONY: apps-scale
apps-scale: build ## Install a small app 200 times in a simulated cloud, and print how much memory the control plane uses (APPS='-parallel 4')
	@NUON_BIN=$(CURDIR)/bin $(RUN) ./examples/internal/apps/run -scale 200 -v $(APPS)

# suite runs the tests of TESTS. RACE is which packages the race detector is for (examples/internal/suite/split.go has the rule).
define suite
@terraform="$$($(RUN) ./runnerd/tfbinary/find $(TERRAFORM))"; \
export PATH="$$terraform:$$PATH" NUON_BIN="$(CURDIR)/bin"; \
$(RUN) ./examples/internal/kubernetes/with -- env $(RUN) ./reconciler/store/storetest/postgres -- \
	env $(COLLECTOR) $(if $(LONG),,$(SHORT)) $(RUN) ./examples/internal/suite -race $(RACE) $(if $(SLOWEST),-slowest $(SLOWEST)) $(or $(TESTS),$(LONGEST) ./...) -- $(GOTEST) $(BESIDE) $(if $(LONG),,-short) -shuffle=on
endef

.PHONY: test
test: RACE := concurrent
test: build ## Run the tests in shuffled order, with the race detector where memory is shared, and list what was not run (TESTS=./cli/... runs some, SLOWEST=30 lists what took longest, LONG=1 also runs those that take minutes)
	$(suite)

.PHONY: race
race: RACE := all
race: build ## Run the tests like make test, but all packages with the race detector (TESTS, SLOWEST and LONG as there)
	$(suite)

.PHONY: soak
soak: build ## Break everything during real deploys and count what is lost, attack it, then make race with the long tests (SOAK='-for 1h -seed 7 -v' ATTACKS='-attempts 5000')
	PATH="$$($(RUN) ./runnerd/tfbinary/find $(TERRAFORM)):$$PATH" $(RUN) ./examples/internal/soak -bin $(CURDIR)/bin $(SOAK)
	PATH="$$($(RUN) ./runnerd/tfbinary/find $(TERRAFORM)):$$PATH" $(RUN) ./examples/internal/attack/campaign -bin $(CURDIR)/bin $(ATTACKS)
	$(GO) test ./diff/oracle -run TestPairs -count=1 -pairs 100000 -timeout 30m
	$(GO) test ./diff/attacks -run TestHiding -count=1 -attempts 2000 -timeout 30m
	$(MAKE) race LONG=1

.PHONY: bench
bench: build ## Measure, each figure as a ratio to a named peer in the same run
	PATH="$$($(RUN) ./runnerd/tfbinary/find $(TERRAFORM)):$$PATH" NUON_BIN=$(CURDIR)/bin $(RUN) ./examples/internal/kubernetes/with -- env $(RUN) ./reconciler/store/storetest/postgres -- $(GO) test -run '^$$' -bench . -benchtime 5x -timeout 60m ./examples/... ./diff/... ./pkg/appconfig/bench ./cli/review ./cli/interactive ./runnerd/kind/terraform ./runnerd/kind/image ./runnerd/runner ./reconciler/jobs ./reconciler/joblog ./reconciler/rollout ./reconciler/installstack/...
	cd diff/bench && NUON_BIN=$(CURDIR)/bin $(GO) test -run Upgrades -bench . -benchtime 10x -timeout 20m .

.PHONY: tools
tools: $(OPENTOFU) $(AWS_SPEC) ## Build the OpenTofu that make test runs beside Terraform (some minutes the first time), and install the specification of CloudFormation (needs npm); without them those tests are skipped

.PHONY: lint
lint: $(GOLANGCI) prose ## Check the code's style and its prose
	$(GOLANGCI) run ./...

.PHONY: prose
prose: ## List phrases in comments, docs and command-line texts that do not read plainly, and lines that are too wide
	$(RUN) ./examples/internal/prose

.PHONY: generate
generate: $(OAPI_CODEGEN) $(SQLC) ## Make the generated files anew: API types, client and servers, queries, the pages on commands and on the config format
	cd pkg/api && $(OAPI_CODEGEN) -config client.cfg.yaml openapi.yaml
	cd reconciler/api/control && $(OAPI_CODEGEN) -config server.cfg.yaml ../../../pkg/api/openapi.yaml
	cd reconciler/api/runner && $(OAPI_CODEGEN) -config server.cfg.yaml ../../../pkg/api/openapi.yaml
	cd reconciler/store && $(SQLC) generate
	$(GO) run ./pkg/api/generate
	gofmt -w pkg/api reconciler/api reconciler/store
	$(GO) run ./diff/kubernetes/schema/generate
	$(GO) run ./pkg/appconfig/format/generate
	$(RUN) ./cli reference > docs/cli.md.new && mv docs/cli.md.new docs/cli.md
	$(RUN) ./cli reference --format config > docs/config.md.new && mv docs/config.md.new docs/config.md

.PHONY: verify
verify: generate lint ## Check that generated code and go.mod are up to date, and the style
	$(GO) mod tidy -diff
	cd examples/internal/provider && $(GO) vet ./... && $(GO) mod tidy -diff
	cd examples/internal/cloud/provider && $(GO) vet ./... && $(GO) mod tidy -diff
	cd diff/bench && $(GO) vet ./... && $(GO) mod tidy -diff
	cd examples/internal/cluster && CGO_ENABLED=0 $(GO) vet ./... && $(GO) mod tidy -diff
	git diff --exit-code

.PHONY: pictures
pictures: build ## Draw the pictures of docs/ anew, each what a real run shows on a terminal (docs/pictures/list.txt)
	NUON_BIN=$(CURDIR)/bin $(GO) test ./examples/internal/picture -run TestPicturesOfTheDocs -update

.PHONY: clean
clean: ## Remove what was built here
	rm -rf bin

$(OAPI_CODEGEN):
	@mkdir -p $(CACHE)/tmp && GOBIN=$(CACHE)/tmp $(GO) install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 && mv $(CACHE)/tmp/oapi-codegen $@

$(SQLC):
	@mkdir -p $(CACHE)/tmp && GOBIN=$(CACHE)/tmp $(GO) install github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 && mv $(CACHE)/tmp/sqlc $@

$(GOLANGCI):
	@mkdir -p $(CACHE)/tmp && GOBIN=$(CACHE)/tmp $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 && mv $(CACHE)/tmp/golangci-lint $@

$(AWS_SPEC):
	@mkdir -p $(CACHE)/tmp/spec
	cd $(CACHE)/tmp/spec && npm install --no-audit --no-fund --ignore-scripts --no-save @aws-cdk/aws-service-spec@0.1.216 @aws-cdk/service-spec-types@0.0.282
	mv $(CACHE)/tmp/spec $@

# go install refuses a module with a replacement, so it is built where the module was downloaded to.
$(OPENTOFU):
	@mkdir -p $(CACHE)/tmp
	cd $(CACHE)/tmp && cd "$$(GOFLAGS= $(GO) mod download -json github.com/opentofu/opentofu@v$(TOFU) | sed -n 's/.*"Dir": "\(.*\)",*$$/\1/p')" && \
		GOFLAGS= CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X github.com/opentofu/opentofu/version.dev=no' -o $(CACHE)/tmp/opentofu ./cmd/tofu
	mv $(CACHE)/tmp/opentofu $@
