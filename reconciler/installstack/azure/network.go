package azure

// Ranges of a network that the stack creates.
const (
	networkRange = "10.0.0.0/16"
	publicRange  = "10.0.0.0/20"
	privateRange = "10.0.128.0/17"
	runnerRange  = "10.0.16.0/24"
)

// Names of the subnets of a network that the stack creates.
const (
	publicSubnet  = "public"
	privateSubnet = "private"
	runnerSubnet  = "runner"
)

// addNetwork adds the network, or the parameters that name an existing one.
func (t *template) addNetwork() {
	if t.stack.ExistingNetwork {
		t.addParameter("networkName", "Name of your virtual network.", object{"minLength": 1})
		t.addParameter("networkResourceGroup", "Its resource group.",
			object{"defaultValue": expression("resourceGroup().name")})
		for _, subnet := range []string{publicSubnet, privateSubnet, runnerSubnet} {
			t.addParameter(subnet+"SubnetName", "Name of its "+subnet+" subnet.", object{"minLength": 1})
		}
		t.variables["networkId"] = call("resourceId", parameter("networkResourceGroup"),
			quoted("Microsoft.Network/virtualNetworks"), parameter("networkName"))
		t.addSubnets(parameter("networkName"), func(name string) expression { return parameter(name + "SubnetName") })
		return
	}
	network := t.shortName("-network")
	t.addFirewalls()
	t.addNAT()
	t.addResource("Microsoft.Network/virtualNetworks", networkAPI, network, t.located(object{
		"dependsOn": list{resourceID("Microsoft.Network/networkSecurityGroups", quoted(t.name("-closed"))),
			resourceID("Microsoft.Network/natGateways", quoted(t.name("-nat")))},
		"properties": object{
			"addressSpace": object{"addressPrefixes": list{networkRange}},
			"subnets": list{
				object{"name": publicSubnet, "properties": object{"addressPrefix": publicRange}},
				t.insideSubnet(privateSubnet, privateRange), t.insideSubnet(runnerSubnet, runnerRange),
			},
		},
	}))
	t.variables["networkId"] = resourceID("Microsoft.Network/virtualNetworks", quoted(network))
	t.addSubnets(quoted(network), quoted)
}

// addSubnets adds the addresses of the subnets, and the outputs about them.
func (t *template) addSubnets(network expression, nameOf func(subnet string) expression) {
	id := func(name string) expression {
		return call("concat", variable("networkId"), quoted("/subnets/"), nameOf(name))
	}
	t.variables["runnerSubnetId"] = id(runnerSubnet)
	t.addOutput("network_id", "string", variable("networkId"))
	t.addOutput("network_name", "string", network)
	for _, subnet := range []string{publicSubnet, privateSubnet} {
		t.addOutput(subnet+"_subnet_ids", "array", call("createArray", id(subnet)))
		t.addOutput(subnet+"_subnet_names", "array", call("createArray", nameOf(subnet)))
	}
}

// insideSubnet returns a subnet that reaches the internet through the gateway only.
func (t *template) insideSubnet(name, addresses string) object {
	return object{"name": name, "properties": object{
		"addressPrefix": addresses, "defaultOutboundAccess": false,
		"natGateway": object{"id": resourceID("Microsoft.Network/natGateways", quoted(t.name("-nat")))},
		"networkSecurityGroup": object{
			"id": resourceID("Microsoft.Network/networkSecurityGroups", quoted(t.name("-closed")))},
	}}
}

// addFirewalls adds the rules of subnets that accept no connections from outside of the network.
func (t *template) addFirewalls() {
	t.addResource("Microsoft.Network/networkSecurityGroups", networkAPI, t.name("-closed"), t.located(object{
		"properties": object{"securityRules": list{object{"name": "deny-internet", "properties": object{
			"priority": 4096, "direction": "Inbound", "access": "Deny", "protocol": "*",
			"sourceAddressPrefix": "Internet", "sourcePortRange": "*",
			"destinationAddressPrefix": "*", "destinationPortRange": "*",
		}}}},
	}))
}

// addNAT adds the gateway to the internet.
func (t *template) addNAT() {
	address := t.name("-nat")
	t.addResource("Microsoft.Network/publicIPAddresses", networkAPI, address, t.located(object{
		"sku":        object{"name": "Standard"},
		"properties": object{"publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4"},
	}))
	id := resourceID("Microsoft.Network/publicIPAddresses", quoted(address))
	t.addResource("Microsoft.Network/natGateways", networkAPI, t.name("-nat"), t.located(object{
		"sku": object{"name": "Standard"}, "dependsOn": list{id},
		"properties": object{"idleTimeoutInMinutes": 10, "publicIpAddresses": list{object{"id": id}}},
	}))
}
