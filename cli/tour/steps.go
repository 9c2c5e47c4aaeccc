package tour

// section is a part of the tour: a title, what a person should know, and the commands.
type section struct {
	title, text string
	commands    []string
}

// sections are the parts of docs/tour.md, with the same commands in the same order.
var sections = []section{
	{"An app", `An app is a directory of TOML files in git: the Terraform modules it consists of, and what each
customer may choose.`, []string{
		"nuon init hello",
		"cd hello",
		"cat components/web.toml",
		"git init -q -b main && git add -A && git commit -q -m 'Package hello'",
	}},
	{"A control plane", `nuon dev runs PostgreSQL, the control plane, a build runner and a runner that stands for a
customer's. It continues in the background until the tour ends.`, []string{
		startDev,
		"nuon apps create hello --repo file://$PWD",
		"nuon sync",
	}},
	{"A customer", `An install is one customer's copy. Nothing changes in it before a person has read the plan and
approved it: the sandbox first, then what depends on it.`, []string{
		"nuon installs create acme --app hello --wait",
		"nuon review --print",
		"nuon approve acme/sandbox",
		"nuon workflows watch latest:acme",
		"nuon approve acme/web",
		"nuon workflows watch latest:acme",
		"nuon installs create globex --app hello --approval approve-all --wait",
		"nuon status",
	}},
	{"An update", "A push builds what changed, and plans it at every customer.", []string{
		"sed -i 's/ from / with love from /' modules/web/main.tf",
		"nuon sync --dry-run",
		"git commit -q -a -m 'Say it with love'",
		"nuon sync --wait",
		"nuon review acme/web --print",
		"nuon reject acme/web --reason 'not during the sale'",
		"nuon status",
		"nuon explain install acme",
		"nuon deploy acme --wait",
		"nuon approve acme/web",
		"nuon workflows watch latest:acme",
	}},
	{"One customer otherwise", "An input changes one customer only.", []string{
		"nuon installs update acme --input greeting=servus --preview",
		"nuon installs update acme --input greeting=servus --wait",
		"nuon approve acme/web",
		"nuon workflows watch latest:acme",
	}},
	{"The end", "What destroys something is approved by name: type the name of the component.", []string{
		"nuon installs deprovision acme --yes --wait",
		"nuon approve acme/web",
		"nuon workflows watch latest:acme",
		"nuon approve acme/sandbox",
		"nuon workflows watch latest:acme",
		"nuon installs forget acme",
	}},
}
