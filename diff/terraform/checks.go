package terraform

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
)

// check is the result of the conditions of one object.
type check struct {
	address, status string
	problems        []string
}

// readChecks reads the results of all instances. An object without instances has its own result.
func readChecks(p *plan, v diff.Raw) (err error) {
	for c := range items(v, &err) {
		f := fieldsOf(c, &err)
		one := checkOf(f)
		instances := f.get("instances")
		for i := range items(instances, &err) {
			p.checks = append(p.checks, checkOf(fieldsOf(i, &err)))
		}
		if instances.Len() == 0 {
			p.checks = append(p.checks, one)
		}
	}
	return err
}

func checkOf(f fields) check {
	c := check{address: f.child("address").text("to_display"), status: f.text("status")}
	for problem := range items(f.get("problems"), f.err) {
		c.problems = append(c.problems, fieldsOf(problem, f.err).text("message"))
	}
	return c
}

// readConditions reads the older form of Terraform 1.2 and 1.3, which later versions omit.
func readConditions(p *plan, v diff.Raw) (err error) {
	for c := range items(v, &err) {
		f := fieldsOf(c, &err)
		one := check{address: f.text("address"), status: string(diff.CheckFail)}
		switch {
		case f.flag("result"):
			one.status = string(diff.CheckPass)
		case f.flag("unknown"):
			one.status = string(diff.CheckUnknown)
		}
		if message := f.text("error_message"); message != "" {
			one.problems = []string{message}
		}
		p.conditions = append(p.conditions, one)
	}
	return err
}

// The fold rule for passed checks, and what it counts.
const (
	foldPassed = "passed"
	foldChecks = "checks"
)

// maxProblems bounds how many messages of one check are listed.
const maxProblems = 20

// checks lists the conditions that fail or are unknown, and counts the others.
func (b *builder) checks(p *plan) {
	list := p.checks
	if len(list) == 0 {
		list = p.conditions
	}
	passed := 0
	for _, c := range list {
		status := diff.CheckStatus(c.status)
		switch status {
		case diff.CheckPass:
			passed++
			continue
		case diff.CheckFail, diff.CheckError, diff.CheckUnknown:
		default:
			// A later version may define other statuses; treat them as unknown.
			status = diff.CheckUnknown
		}
		b.report.Checks = append(b.report.Checks, b.check(c, status))
	}
	b.report.AddFold(foldPassed, foldChecks, passed)
}

func (b *builder) check(c check, status diff.CheckStatus) diff.Check {
	out := diff.Check{Address: b.address(c.address), Status: status}
	if out.Address == "" {
		out.Address = "a check without a name"
	}
	for i, problem := range c.problems {
		if i == maxProblems {
			more := len(c.problems) - maxProblems
			out.Problems = append(out.Problems, diff.Plural(more, "more message", "more messages"))
			break
		}
		problem, _ = secret.Redact(problem, nil)
		out.Problems = append(out.Problems, b.masker.Text(problem))
	}
	return out
}
