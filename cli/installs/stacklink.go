package installs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// StackLink is how a customer creates or updates a stack.
type StackLink struct {
	Version  int      `json:"version"`
	Link     string   `json:"link,omitempty"`
	Commands []string `json:"commands,omitempty"`
}

func newStackLink(e *cmdenv.Env) *cobra.Command {
	var template string
	c := &cobra.Command{
		Use:   "link INSTALL",
		Short: "Print the link or the commands by which the customer creates or updates an install's stack",
		Long: `Prints the link to the console of AWS or Azure by which the customer creates or updates an install's stack.
The control plane publishes the template in its bucket first ("reconciler serve --stack-bucket"). Without a
bucket, and on GCP, it prints commands instead, with the parameters that have no default.

--template-url prints a link without a bucket. Upload the file that "nuon installs stack render" writes to a
place that the customer can read (on AWS: a bucket), and name its address. The file is fetched and compared
first.`,
		Example: "  nuon installs stack link acme\n" +
			"  nuon installs stack link acme --template-url https://stacks.s3.eu-central-1.amazonaws.com/acme.json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			stack, err := apiclient.Decode[api.Stack](client.RenderStack(ctx, args[0],
				&api.RenderStackParams{Publish: template == ""}))
			if err != nil {
				return err
			}
			link, err := linkOf(ctx, args[0], stack, template)
			if err != nil {
				return err
			}
			return e.Console.Result(link, func(w io.Writer) error {
				lines := link.Commands
				if link.Link != "" {
					lines = []string{link.Link}
				}
				_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
				return err
			})
		}),
	}
	c.Flags().StringVar(&template, "template-url", "", "https `address` of the uploaded template")
	return c
}

// linkOf returns how a customer creates or updates a stack: from the template that the control plane published, from
// the one that was uploaded to an address, or with commands.
func linkOf(ctx context.Context, install string, stack api.Stack, uploaded string) (link StackLink, err error) {
	link.Version = stack.Version
	switch {
	case len(stack.Files) == 0:
		err = errors.New("the control plane returned a stack without files")
	case !regionForm.MatchString(stack.Region):
		err = fmt.Errorf("the control plane returned the region %q of the stack, which no cloud has", stack.Region)
	case uploaded != "" && len(stack.Files) != 1:
		err = exitcode.Usagef("--template-url is for stacks of a single file, and this one is a Terraform module")
	case uploaded != "":
		if err = checkPublished(ctx, uploaded, stack); err == nil {
			link.Link = consoleLink(uploaded, stack)
		}
	case stack.TemplateURL != "":
		link.Link = consoleLink(stack.TemplateURL, stack)
	default:
		link.Commands, err = stackCommands(install, stack)
	}
	return link, err
}

// regionForm matches the name of a region, or none. A region is a part of the name of a host.
var regionForm = lazyregexp.New(`^[A-Za-z0-9-]*$`)

// consoleLink returns the link that opens a template in the console of AWS or the portal of Azure.
func consoleLink(template string, stack api.Stack) string {
	if stack.Cloud == "azure" {
		return "https://portal.azure.com/#create/Microsoft.Template/uri/" + url.QueryEscape(template)
	}
	host, region := "console.aws.amazon.com", ""
	if stack.Region != "" {
		host, region = stack.Region+"."+host, "?region="+url.QueryEscape(stack.Region)
	}
	return "https://" + host + "/cloudformation/home" + region + "#/stacks/quickcreate?templateUrl=" +
		url.QueryEscape(template) + "&stackName=" + url.QueryEscape(stack.Name)
}

// fetchTime bounds the time to fetch a template.
const fetchTime = 30 * time.Second

// checkPublished requires that an address has the template of a stack.
func checkPublished(ctx context.Context, template string, stack api.Stack) error {
	if at, err := url.Parse(template); err != nil || at.Scheme != "https" || at.Host == "" {
		return exitcode.Usagef("--template-url %q is not an https URL", template)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, template, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("fetch the template: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // only read
	want := stack.Files[0].Content
	got, err := io.ReadAll(io.LimitReader(response.Body, int64(len(want))+1))
	switch {
	case err != nil:
		return fmt.Errorf("fetch the template: %w", err)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("fetch the template: %s", response.Status)
	case string(got) != want:
		return fmt.Errorf("%s is not version %d of the stack; upload what nuon installs stack render writes", template,
			stack.Version)
	}
	return nil
}

// maxTemplateBody is the size of a template that AWS accepts without a bucket.
const maxTemplateBody = 51_200

// stackCommands returns the commands that create or update a stack. Texts of the control plane are quoted, so that a
// person can paste a command.
func stackCommands(install string, stack api.Stack) ([]string, error) {
	dir := stack.Name
	commands := []string{line("nuon", "installs", "stack", "render", install, "--output-dir", dir)}
	if len(stack.Files) > 1 { // a Terraform module
		apply := []string{"terraform", "-chdir=" + dir, "apply"}
		if stack.Cloud == "azure" {
			commands = append(commands, resourceGroup(stack))
			apply = append(apply, "-var", "resource_group_name="+stack.Name)
		}
		commands = append(commands, line("terraform", "-chdir="+dir, "init"), line(apply...))
		if stack.Cloud == "gcp" {
			location := cmp.Or(stack.Region, "LOCATION")
			commands = append(commands, "# or, instead of the two commands before, with Infrastructure Manager, which keeps "+
				"the state; ACCOUNT needs roles/config.agent:",
				line("gcloud", "infra-manager", "deployments", "apply",
					"projects/PROJECT/locations/"+location+"/deployments/"+stack.Name)+" \\\n  "+
					line("--local-source="+dir, "--service-account=projects/PROJECT/serviceAccounts/ACCOUNT"))
		}
		return commands, nil
	}
	template := dir + "/" + stack.Files[0].Name
	switch stack.Cloud {
	case "aws":
		required, _, err := requiredParameters(stack.Files[0].Content)
		if err != nil {
			return nil, err
		}
		options := []string{"--stack-name", stack.Name, "--capabilities", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"}
		if stack.Region != "" {
			options = append(options, "--region", stack.Region)
		}
		if len(stack.Files[0].Content) > maxTemplateBody {
			options = append(options, "--s3-bucket", "BUCKET")
		}
		command := line("aws", "cloudformation", "deploy", "--template-file", template) + " \\\n  " + line(options...)
		return append(commands, command+valuesOption("--parameter-overrides", required)), nil
	case "azure":
		return azureCommands(commands, template, stack)
	}
	return nil, fmt.Errorf("stacks for %s cannot be created yet", stack.Cloud)
}

// line returns a part of a command line: printable words that a shell splits as they are given.
func line(words ...string) string { return console.Line(console.CommandLine(words...)) }

// valuesOption returns the line of a command with an option for the values of parameters; empty without parameters.
func valuesOption(option string, parameters []string) string {
	if len(parameters) == 0 {
		return ""
	}
	words := []string{option}
	for _, name := range parameters {
		words = append(words, name+"=VALUE")
	}
	return " \\\n  " + line(words...)
}

// azureCommands appends the commands that create or update a stack on Azure. The last one asks for the secrets, so that
// none gets into the history of a shell.
func azureCommands(commands []string, template string, stack api.Stack) ([]string, error) {
	required, secrets, err := requiredParameters(stack.Files[0].Content)
	if err != nil {
		return nil, err
	}
	plain := slices.DeleteFunc(required, func(name string) bool { return slices.Contains(secrets, name) })
	command := line("az", "deployment", "group", "create", "--resource-group", stack.Name, "--name", stack.Name) +
		" \\\n  " + line("--template-file", template)
	return append(commands, resourceGroup(stack), command+valuesOption("--parameters", plain)), nil
}

// resourceGroup returns the command that creates the resource group of a stack on Azure.
func resourceGroup(stack api.Stack) string {
	return line("az", "group", "create", "--name", stack.Name, "--location", cmp.Or(stack.Region, "LOCATION"))
}

// requiredParameters returns the parameters of a template that have no default, by name, and which of them Azure hides.
func requiredParameters(template string) (required, secrets []string, err error) {
	var parsed struct {
		Parameters map[string]struct {
			Type                  string
			Default, DefaultValue json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(template), &parsed); err != nil {
		return nil, nil, errors.New("the template is not JSON; update nuon")
	}
	for _, name := range slices.Sorted(maps.Keys(parsed.Parameters)) {
		p := parsed.Parameters[name]
		if p.Default != nil || p.DefaultValue != nil {
			continue
		}
		required = append(required, name)
		if p.Type == "securestring" {
			secrets = append(secrets, name)
		}
	}
	return required, secrets, nil
}
