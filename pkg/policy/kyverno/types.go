package kyverno

import "go.yaml.in/yaml/v3"

// The types below have these tags in addition to the yaml name:
//
//	check:"later"    valid, but not evaluated here
//	check:"required" the policy is invalid without it
//	enum:"a,b"       the allowed values

// Policy is a ClusterPolicy or a Policy of kyverno.io/v1 or v2beta1.
type Policy struct {
	APIVersion string     `yaml:"apiVersion" check:"required"`
	Kind       string     `yaml:"kind" check:"required"`
	Metadata   Metadata   `yaml:"metadata" check:"required"`
	Spec       Spec       `yaml:"spec" check:"required"`
	Status     *yaml.Node `yaml:"status"`
}

// Metadata is the metadata of a Kubernetes object, with the fields that people write.
type Metadata struct {
	Name              string            `yaml:"name" check:"required"`
	Namespace         string            `yaml:"namespace"`
	Labels            map[string]string `yaml:"labels"`
	Annotations       map[string]string `yaml:"annotations"`
	GenerateName      string            `yaml:"generateName"`
	Finalizers        []string          `yaml:"finalizers"`
	OwnerReferences   *yaml.Node        `yaml:"ownerReferences"`
	ManagedFields     *yaml.Node        `yaml:"managedFields"`
	UID               string            `yaml:"uid"`
	ResourceVersion   string            `yaml:"resourceVersion"`
	Generation        int               `yaml:"generation"`
	CreationTimestamp string            `yaml:"creationTimestamp"`
}

// Spec is the specification of a policy.
type Spec struct {
	Rules                            []Rule          `yaml:"rules" check:"required"`
	ApplyRules                       string          `yaml:"applyRules" enum:"All,One"`
	FailurePolicy                    string          `yaml:"failurePolicy" enum:"Ignore,Fail"`
	ValidationFailureAction          string          `yaml:"validationFailureAction" enum:"audit,enforce,Audit,Enforce"`
	ValidationFailureActionOverrides []FailureAction `yaml:"validationFailureActionOverrides" check:"later"`
	EmitWarning                      bool            `yaml:"emitWarning"`
	Admission                        bool            `yaml:"admission"`
	Background                       bool            `yaml:"background"`
	SchemaValidation                 bool            `yaml:"schemaValidation"`
	WebhookTimeoutSeconds            int             `yaml:"webhookTimeoutSeconds"`
	WebhookConfiguration             *yaml.Node      `yaml:"webhookConfiguration"`
	MutateExistingOnPolicyUpdate     bool            `yaml:"mutateExistingOnPolicyUpdate"`
	GenerateExisting                 bool            `yaml:"generateExisting"`
	GenerateExistingOnPolicyUpdate   bool            `yaml:"generateExistingOnPolicyUpdate"`
	UseServerSideApply               bool            `yaml:"useServerSideApply"`
}

// FailureAction is the effect of a failure in some namespaces.
type FailureAction struct {
	Action            string     `yaml:"action" enum:"audit,enforce,Audit,Enforce"`
	Namespaces        []string   `yaml:"namespaces"`
	NamespaceSelector *yaml.Node `yaml:"namespaceSelector"`
}

// Rule is one rule: the objects that it applies to, and one of four actions.
type Rule struct {
	Name                   string            `yaml:"name" check:"required"`
	Match                  Match             `yaml:"match" check:"required"`
	Exclude                Match             `yaml:"exclude"`
	Context                []ContextEntry    `yaml:"context"`
	Preconditions          Conditions        `yaml:"preconditions"`
	CELPreconditions       *yaml.Node        `yaml:"celPreconditions" check:"later"`
	ImageExtractors        *yaml.Node        `yaml:"imageExtractors" check:"later"`
	ReportProperties       map[string]string `yaml:"reportProperties"`
	SkipBackgroundRequests bool              `yaml:"skipBackgroundRequests"`
	Validate               *Validate         `yaml:"validate"`
	Mutate                 *Mutate           `yaml:"mutate"`
	Generate               *yaml.Node        `yaml:"generate" check:"later"`
	VerifyImages           *yaml.Node        `yaml:"verifyImages" check:"later"`
}

// Match selects objects: any or all of the filters or, in the older form, one inline filter.
type Match struct {
	Any []Filter `yaml:"any"`
	All []Filter `yaml:"all"`
	Filter
}

// Filter selects objects by their properties and by who sends them.
type Filter struct {
	Resources    Resources `yaml:"resources"`
	Subjects     []Subject `yaml:"subjects" check:"later"`
	Roles        []string  `yaml:"roles" check:"later"`
	ClusterRoles []string  `yaml:"clusterRoles" check:"later"`
}

// Resources selects objects by their properties. Kinds are Kind, version/Kind or
// group/version/Kind, and may contain wildcards.
type Resources struct {
	Kinds             []string          `yaml:"kinds"`
	Name              string            `yaml:"name"`
	Names             []string          `yaml:"names"`
	Namespaces        []string          `yaml:"namespaces"`
	Annotations       map[string]string `yaml:"annotations" check:"later"`
	Selector          *Selector         `yaml:"selector" check:"later"`
	NamespaceSelector *Selector         `yaml:"namespaceSelector" check:"later"`
	Operations        []string          `yaml:"operations" check:"later" enum:"CREATE,UPDATE,DELETE,CONNECT"`
}

// Selector selects by labels.
type Selector struct {
	MatchLabels      map[string]string `yaml:"matchLabels"`
	MatchExpressions []Expression      `yaml:"matchExpressions"`
}

// Expression is one condition of a selector.
type Expression struct {
	Key      string   `yaml:"key" check:"required"`
	Operator string   `yaml:"operator" check:"required" enum:"In,NotIn,Exists,DoesNotExist"`
	Values   []string `yaml:"values"`
}

// Subject is a sender of an object.
type Subject struct {
	Kind      string `yaml:"kind" check:"required"`
	APIGroup  string `yaml:"apiGroup"`
	Name      string `yaml:"name" check:"required"`
	Namespace string `yaml:"namespace"`
}

// ContextEntry names a value. Only variables are evaluated here: the other values come from the
// cluster or from outside of it.
type ContextEntry struct {
	Name            string     `yaml:"name" check:"required"`
	Variable        *Variable  `yaml:"variable"`
	ConfigMap       *yaml.Node `yaml:"configMap" check:"later"`
	APICall         *yaml.Node `yaml:"apiCall" check:"later"`
	ImageRegistry   *yaml.Node `yaml:"imageRegistry" check:"later"`
	GlobalReference *yaml.Node `yaml:"globalReference" check:"later"`
}

// Variable is a value, or a JMESPath expression with a default.
type Variable struct {
	Value    *yaml.Node `yaml:"value"`
	JMESPath string     `yaml:"jmesPath"`
	Default  *yaml.Node `yaml:"default"`
}

// Conditions are a list that must hold as a whole, and a list of which at least one must hold. The
// older form, an inline list, is read as All.
type Conditions struct {
	Any []Condition `yaml:"any"`
	All []Condition `yaml:"all"`
}

// Condition compares two values.
type Condition struct {
	Key      *yaml.Node `yaml:"key"`
	Operator string     `yaml:"operator" check:"required" enum:"Equal,Equals,NotEqual,NotEquals,In,AnyIn,AllIn,NotIn,AnyNotIn,AllNotIn,GreaterThan,GreaterThanOrEquals,LessThan,LessThanOrEquals,DurationGreaterThan,DurationGreaterThanOrEquals,DurationLessThan,DurationLessThanOrEquals"`
	Value    *yaml.Node `yaml:"value"`
	Message  string     `yaml:"message"`
}

// Validate accepts or rejects an object.
type Validate struct {
	FailureAction           string            `yaml:"failureAction" enum:"Audit,Enforce"`
	FailureActionOverrides  []FailureAction   `yaml:"failureActionOverrides" check:"later"`
	AllowExistingViolations bool              `yaml:"allowExistingViolations"`
	Message                 string            `yaml:"message"`
	Pattern                 *yaml.Node        `yaml:"pattern"`
	AnyPattern              *yaml.Node        `yaml:"anyPattern"`
	Deny                    *Deny             `yaml:"deny"`
	Foreach                 []ForeachValidate `yaml:"foreach"`
	PodSecurity             *yaml.Node        `yaml:"podSecurity" check:"later"`
	CEL                     *yaml.Node        `yaml:"cel" check:"later"`
	Manifests               *yaml.Node        `yaml:"manifests" check:"later"`
	Assert                  *yaml.Node        `yaml:"assert" check:"later"`
}

// Deny rejects an object when its conditions hold.
type Deny struct {
	Conditions Conditions `yaml:"conditions"`
}

// ForeachValidate validates each element of a list.
type ForeachValidate struct {
	List          string         `yaml:"list" check:"required"`
	ElementScope  bool           `yaml:"elementScope"`
	Context       []ContextEntry `yaml:"context"`
	Preconditions Conditions     `yaml:"preconditions"`
	Pattern       *yaml.Node     `yaml:"pattern"`
	AnyPattern    *yaml.Node     `yaml:"anyPattern"`
	Deny          *Deny          `yaml:"deny"`
	Foreach       *yaml.Node     `yaml:"foreach" check:"later"`
}

// Mutate changes an object.
type Mutate struct {
	PatchStrategicMerge          *yaml.Node      `yaml:"patchStrategicMerge"`
	PatchesJSON6902              string          `yaml:"patchesJson6902" check:"later"`
	Foreach                      []ForeachMutate `yaml:"foreach"`
	Targets                      *yaml.Node      `yaml:"targets" check:"later"`
	MutateExistingOnPolicyUpdate bool            `yaml:"mutateExistingOnPolicyUpdate"`
}

// ForeachMutate changes an object for each element of a list.
type ForeachMutate struct {
	List                string         `yaml:"list" check:"required"`
	Order               string         `yaml:"order" enum:"Ascending,Descending"`
	Context             []ContextEntry `yaml:"context"`
	Preconditions       Conditions     `yaml:"preconditions"`
	PatchStrategicMerge *yaml.Node     `yaml:"patchStrategicMerge"`
	PatchesJSON6902     string         `yaml:"patchesJson6902" check:"later"`
	Foreach             *yaml.Node     `yaml:"foreach" check:"later"`
}
