package appconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/render"
)

// finding is a problem with one use.
type finding struct {
	rule, message, hint string
	warns               bool
}

// errorFinding returns a finding that is an error.
func errorFinding(rule, hint, format string, args ...any) *finding {
	return &finding{rule: rule, message: fmt.Sprintf(format, args...), hint: hint}
}

// unknownName returns the finding for an unknown name, with the nearest existing name as the hint.
func (c *checker) unknownName(name string, known []string, format string, args ...any) *finding {
	return errorFinding(ruleTemplatePath, c.nearestHint(name, known), format, args...)
}

// checkUse returns the problem with one path that a text reads, or nil.
func (c *checker) checkUse(t *renderedText, ref render.Path) *finding {
	if len(ref) == 0 {
		return nil // a parse error already
	}
	fields, known := pathRoots()[ref[0]]
	switch {
	case !known:
		return c.unknownName(ref[0], rootNames(), "there is no %q below .nuon", ref[0])
	case fields != nil && len(ref) > 1 && !slices.Contains(fields, ref[1]):
		return c.unknownField(ref, fields)
	}
	for _, path := range PathsOf(ref) {
		if path.Never != "" {
			return errorFinding(ruleTemplatePath, "remove it", ".nuon.%s has no value: %s", path.Path, path.Never)
		}
	}
	if found := c.checkStage(t, ref); found != nil {
		return found
	}
	switch ref[0] {
	case "inputs":
		if len(ref) > 2 && ref[1] == "inputs" && c.names.inputs[ref[2]] == nil {
			return c.unknownInput(ref[2])
		}
	case "install":
		if ref.HasPrefix("install", "secrets") && len(ref) > 2 {
			return c.checkSecretUse(render.Path{"secrets", ref[2]})
		}
	case "secrets":
		return c.checkSecretUse(ref)
	case "actions":
		return c.checkActionUse(ref)
	case "components":
		return c.checkComponentUse(t, ref)
	case "sandbox":
		if len(ref) > 2 && ref[1] == "outputs" {
			return c.checkModuleOutput(t, SandboxName, ref[2])
		}
	case "domain":
		return c.checkModuleOutput(t, SandboxName, dnsOutput)
	case "install_stack":
		return c.checkStackUse(ref)
	case "cloud_account":
		return c.checkAccountUse(ref)
	}
	return nil
}

// unknownField returns the finding for an unknown key directly below a root. The most common
// mistake is a missing level.
func (c *checker) unknownField(ref render.Path, fields []string) *finding {
	hint := c.nearestHint(ref[1], fields)
	switch {
	case ref[0] == "inputs" && c.names.inputs[ref[1]] != nil:
		hint = "write .nuon.inputs.inputs." + ref[1]
	case ref[0] == "actions" && c.names.actions[ref[1]] != nil:
		hint = "write .nuon.actions.workflows." + ref[1:].String()
	case ref[0] == "install_stack" && slices.Contains(stackOutputs()[c.cloud], ref[1]), ref[0] == "sandbox" && hint == "":
		hint = "write .nuon." + ref[0] + ".outputs." + ref[1:].String()
	}
	return errorFinding(ruleTemplatePath, hint, "there is no %q below .nuon.%s", ref[1], ref[0])
}

func (c *checker) unknownInput(name string) *finding {
	if c.unreadable.has(name) {
		return nil
	}
	found := errorFinding(ruleTemplatePath, nearestOrDeclare(c, name, c.names.inputs, "input"), "the app has no input %q",
		name)
	if c.names.secrets[name] != nil {
		found.hint = "write .nuon.install.secrets." + name
	}
	return found
}

func (c *checker) checkSecretUse(ref render.Path) *finding {
	switch {
	case len(ref) == 1, c.names.secrets[ref[1]] == nil && c.unreadable.has(ref[1]):
		return nil
	case c.names.secrets[ref[1]] == nil:
		return errorFinding(ruleTemplatePath, nearestOrDeclare(c, ref[1], c.names.secrets, "secret"),
			"the app has no secret %q", ref[1])
	case len(ref) > 2 && slices.Contains([]string{"value", "data", "content", "plaintext", "secret"}, ref[2]):
		return errorFinding(ruleTemplatePath, "write .nuon.install.secrets."+ref[1], "there is no %q of a secret", ref[2])
	case len(ref) > 2 && !slices.Contains(secretFields(), ref[2]):
		return c.unknownName(ref[2], secretFields(), "there is no %q of a secret", ref[2])
	}
	return nil
}

func (c *checker) checkActionUse(ref render.Path) *finding {
	if len(ref) < 3 || ref[1] != "workflows" {
		return nil
	}
	action := c.names.actions[ref[2]]
	switch {
	case action == nil && c.unreadable.has(ref[2]):
		return nil
	case action == nil:
		return errorFinding(ruleTemplatePath, nearestOrDeclare(c, ref[2], c.names.actions, "action"),
			"the app has no action %q", ref[2])
	case len(ref) > 3 && !slices.Contains(actionFields(), ref[3]):
		return c.unknownName(ref[3], actionFields(), "there is no %q of an action", ref[3])
	case len(ref) > 5 && ref[3] == "outputs" && ref[4] == "steps":
		var steps []string
		for _, step := range action.value.Steps {
			steps = append(steps, step.Name)
		}
		if !slices.Contains(steps, ref[5]) {
			return c.unknownName(ref[5], steps, "action %q has no step %q", ref[2], ref[5])
		}
	}
	return nil
}

func (c *checker) checkComponentUse(t *renderedText, ref render.Path) *finding {
	if len(ref) == 1 {
		return errorFinding(ruleTemplatePath, "name the component that is meant, such as .nuon.components.web.outputs",
			"this reads all components")
	}
	comp := c.names.readable[ref[1]]
	switch {
	case ref[1] == "populated", comp == nil && c.unreadable.has(ref[1]):
		return nil
	case comp == nil && ref[1] == "components":
		found := errorFinding(ruleTemplatePath, "write .nuon."+ref[1:].String(),
			".nuon.components.components is an older shape and has no value")
		found.warns = true
		return found
	case comp == nil:
		return errorFinding(ruleTemplatePath, nearestOrDeclare(c, ref[1], c.names.readable, "component"),
			"the app has no component %q",
			ref[1])
	case len(ref) > 2 && !slices.Contains(componentFields(), ref[2]):
		return c.unknownName(ref[2], componentFields(), "there is no %q of a component", ref[2])
	case len(ref) > 3 && ref[2] == "outputs":
		return c.checkOutput(t, comp, ref)
	}
	return nil
}

// checkOutput checks that a component's kind can have the output in
// .nuon.components.NAME.outputs.OUTPUT.
func (c *checker) checkOutput(t *renderedText, comp *component, ref render.Path) *finding {
	roots, closed := outputRoots()[comp.Type]
	if !closed {
		return c.checkModuleOutput(t, comp.Name, ref[3])
	}
	if !slices.Contains(roots, ref[3]) {
		found := c.unknownName(ref[3], roots, "component %q is a %s and has no output %q", comp.Name, comp.Type, ref[3])
		image := roots[0] == "image" && slices.Contains(imageFields(), ref[3])
		switch {
		case comp.Type == format.KindKubernetesManifest && ref[3] == "diff": // exists in another system only
			found.warns, found.hint = true, "what a deploy changes is told with its plan; read resources instead"
		case image:
			found.hint = "write .nuon.components." + ref[1] + ".outputs.image." + ref[3]
		case found.hint == "":
			found.hint = "it has " + strings.Join(roots, ", ")
		}
		return found
	}
	if roots[0] == "image" && len(ref) > 4 && !slices.Contains(imageFields(), ref[4]) {
		found := c.unknownName(ref[4], imageFields(), "there is no %q of an image", ref[4])
		if found.hint == "" {
			found.hint = "it has " + strings.Join(imageFields(), ", ")
		}
		return found
	}
	return nil
}

func (c *checker) checkAccountUse(ref render.Path) *finding {
	switch {
	case len(ref) < 2:
		return nil
	case c.cloud != "" && ref[1] != c.cloud:
		return errorFinding(ruleCloudMismatch,
			"read .nuon.cloud_account."+c.cloud+"."+accountFields()[c.cloud][len(accountFields()[c.cloud])-1],
			"the app runs on %s: its installs have no %s account", cloudLabels[c.cloud], cloudLabels[ref[1]])
	case len(ref) > 2 && ref[1] != cloudGCP && !slices.Contains(accountFields()[ref[1]], ref[2]):
		return c.unknownName(ref[2], accountFields()[ref[1]], "there is no %q below .nuon.cloud_account.%s", ref[2], ref[1])
	}
	return nil
}

// checkStackUse checks the outputs of the customer's stack.
func (c *checker) checkStackUse(ref render.Path) *finding {
	if len(ref) < 3 || ref[1] != "outputs" || c.cloud == "" {
		return nil
	}
	name := ref[2]
	switch {
	case name == nestedStacksOutput:
		return c.checkNestedUse(ref)
	case name == "install_inputs":
		if len(ref) > 3 && c.names.inputs[ref[3]] == nil {
			return c.unknownInput(ref[3])
		}
		return nil
	case slices.Contains(sharedStackOutputs(), name), slices.Contains(stackOutputs()[c.cloud], name),
		c.isSecretOutput(name):
		return nil
	}
	known := slices.Concat(stackOutputs()[c.cloud], sharedStackOutputs())
	for secret := range c.names.secrets {
		known = append(known, secret+"_arn")
	}
	hint := c.nearestHint(name, known)
	if others := cloudsOfOutput(name); len(others) > 0 {
		return errorFinding(ruleCloudMismatch, hint, "the stack of an app on %s reports no %q: that is one of %s",
			cloudLabels[c.cloud], name, strings.Join(others, " and "))
	}
	if c.cloud == cloudGCP && hint == "" {
		return nil // the outputs depend on the stack's modules
	}
	if secret, ok := strings.CutSuffix(name, "_arn"); ok && hint == "" {
		return errorFinding(ruleTemplatePath, fmt.Sprintf("declare the secret %s, or read another output", secret),
			"the stack reports no %q: the app has no secret %q", name, secret)
	}
	return errorFinding(ruleTemplatePath, hint, "the stack of an app on %s reports no %q", cloudLabels[c.cloud], name)
}

func (c *checker) isSecretOutput(name string) bool {
	secret, ok := strings.CutSuffix(name, "_arn")
	return ok && (c.names.secrets[secret] != nil || c.unreadable.has(secret))
}

func (c *checker) checkNestedUse(ref render.Path) *finding {
	if len(ref) < 4 || c.names.stacks[ref[3]] || c.unreadable.has(ref[3]) {
		return nil
	}
	found := c.unknownName(ref[3], keysOf(c.names.stacks), "stack.toml has no nested stack %q", ref[3])
	if found.hint == "" {
		found.hint = "add a [[custom_nested_stacks]] with that name"
	}
	return found
}

// checkStage checks that the path has a value when the text is rendered.
func (c *checker) checkStage(t *renderedText, ref render.Path) *finding {
	switch {
	case t.stage == stageSandbox && ref[0] == "components" && len(ref) > 1 && c.names.readable[ref[1]] != nil:
		return errorFinding(ruleTemplateScope, "turn it round: the component can read .nuon.sandbox.outputs",
			"the sandbox is made before all components and cannot read component %q", ref[1])
	case t.stage == stageSandbox && ref.HasPrefix("sandbox", "outputs"):
		return errorFinding(ruleTemplateScope, "remove it",
			"the sandbox cannot read its own outputs: they are not there before it is made")
	case t.stage == stageSandbox && (ref.HasPrefix("sandbox", "version") || readsDomain(ref)):
		return errorFinding(ruleTemplateScope, "remove it",
			"the sandbox cannot read .nuon.%s: it has no value before the sandbox is deployed", ref)
	case t.stage == stageNestedStack && !nestedMayRead(ref):
		return errorFinding(ruleTemplateScope, "read .nuon.install.id, .nuon.inputs.inputs, .nuon.app or .nuon.org",
			"a parameter of a nested stack cannot read .nuon.%s: the stack is made before it has a value", ref)
	case t.stage == stageStack && ref.HasPrefix("install", "secrets"):
		return errorFinding(ruleTemplateScope, "read the install, its inputs or its cloud account",
			"the stack, its roles and secrets are made without the values of secrets, so they cannot read .nuon.%s", ref)
	case t.stage == stageStack &&
		slices.Contains([]string{"sandbox", "components", "actions", "install_stack", "secrets", "domain"}, ref[0]):
		found := errorFinding(ruleTemplateScope, "read the install, its inputs or its cloud account",
			"the stack, its roles and secrets are made first, when .nuon.%s has no value", ref)
		// The others have a value when the stack is created again.
		found.warns = ref[0] != "components" && ref[0] != "actions"
		return found
	}
	return nil
}

// readsDomain reports whether a path reads only domains of the install.
func readsDomain(ref render.Path) bool {
	return !slices.ContainsFunc(PathsOf(ref), func(p TemplatePath) bool { return p.From != FromDomain })
}

// nestedMayRead implements the restriction at the end of section 3.3.
func nestedMayRead(ref render.Path) bool {
	switch ref[0] {
	case "app", "org":
		return true
	case "inputs":
		return len(ref) > 1 && ref[1] == "inputs"
	case "install":
		return len(ref) > 1 && ref[1] == "id"
	}
	return false
}
