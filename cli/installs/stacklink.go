package installs

import (
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
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
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
		Long: `Prints the commands by which the customer creates or updates an install's stack, with the parameters that have no
default.

On AWS, --template-url prints a link to the console instead. Upload the file that "nuon installs stack render" writes
to a bucket that the customer can read, and name its address. The file is fetched and compared first.`,
		Example: "  nuon installs stack link acme\n" +
			"  nuon installs stack link acme --template-url https://stacks.s3.eu-central-1.amazonaws.com/acme.json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			stack, err := readStack(ctx, client, args[0], 0)
			if err != nil {
				return err
			}
			link := StackLink{Version: stack.Version}
			switch {
			case template == "":
				link.Commands, err = stackCommands(args[0], stack)
			case stack.Cloud != "aws":
				err = exitcode.Usagef("--template-url is for stacks on AWS")
			default:
				if err = checkPublished(ctx, template, stack); err == nil {
					link.Link = quickCreate(template, stack)
				}
			}
			if err != nil {
				return err
			}
			return e.Console.Result(link, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, strings.Join(append(link.Commands, link.Link), "\n"))
				return err
			})
		}),
	}
	c.Flags().StringVar(&template, "template-url", "", "https `address` of the uploaded template")
	return c
}

// quickCreate returns the link that opens a template in the console of AWS.
func quickCreate(template string, stack api.Stack) string {
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

// stackCommands returns the commands that create or update a stack.
func stackCommands(install string, stack api.Stack) ([]string, error) {
	dir := stack.Name
	commands := []string{"nuon installs stack render " + install + " --output-dir " + dir}
	switch stack.Cloud {
	case "aws":
		required, err := requiredParameters(stack.Files[0].Content)
		if err != nil {
			return nil, err
		}
		command := "aws cloudformation deploy --template-file " + dir + "/" + stack.Files[0].Name + " \\\n  --stack-name " +
			stack.Name + " --capabilities CAPABILITY_NAMED_IAM CAPABILITY_AUTO_EXPAND"
		if stack.Region != "" {
			command += " --region " + stack.Region
		}
		if len(stack.Files[0].Content) > maxTemplateBody {
			command += " --s3-bucket BUCKET"
		}
		if len(required) > 0 {
			command += " \\\n  --parameter-overrides"
			for _, name := range required {
				command += " " + name + "=VALUE"
			}
		}
		return append(commands, command), nil
	case "gcp":
		return append(commands, "terraform -chdir="+dir+" init", "terraform -chdir="+dir+" apply"), nil
	}
	return nil, fmt.Errorf("stacks for %s cannot be created yet", stack.Cloud)
}

// requiredParameters returns the parameters of a template that have no default, by name.
func requiredParameters(template string) ([]string, error) {
	var parsed struct {
		Parameters map[string]struct{ Default *string }
	}
	if err := json.Unmarshal([]byte(template), &parsed); err != nil {
		return nil, errors.New("the template is not JSON; update nuon")
	}
	for name, p := range parsed.Parameters {
		if p.Default != nil {
			delete(parsed.Parameters, name)
		}
	}
	return slices.Sorted(maps.Keys(parsed.Parameters)), nil
}
