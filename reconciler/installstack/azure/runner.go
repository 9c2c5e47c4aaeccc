package azure

import (
	_ "embed"
	"maps"
	"slices"
	"strconv"

	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// bootScript starts the runner on its machine. The lines before it set what depends on the install.
//
//go:embed boot.sh
var bootScript string

const (
	machineKind = "Microsoft.Compute/virtualMachines"
	adminUser   = "nuon-admin"
	// registrySecret is the name of the secret in the vault with the password of the registry.
	registrySecret = "nuon-registry-password"
)

// addRunner adds the machine of the runner, which accepts no connections from the internet.
func (t *template) addRunner() {
	size := t.stack.Runner.InstanceType
	if size == "" {
		size = "Standard_D2s_v5"
	}
	t.addParameter("registry", "HOST/PATH of a registry of yours that stores copies of what is deployed.",
		object{"minLength": 1})
	t.addParameter("registryUsername", "Username of the registry.", object{"defaultValue": ""})
	password := t.addParameter("registryPassword", "Password of the registry.",
		object{"type": "securestring", "defaultValue": ""})
	t.addParameter("machineSize", "Size of the machine of the runner.", object{"defaultValue": literal(size)})
	t.addParameter("sshPublicKey", "Your public SSH key. Azure asks for one; nothing reaches the machine from the "+
		"internet.", object{"minLength": 1})
	t.addSecret(registrySecret, password, call("not", call("empty", password)))

	machine := installstack.RunnerRoleName(t.stack.Install.ID)
	id := resourceID(machineKind, quoted(machine))
	card, disk := t.addCard(), t.addDisk()
	t.addResource(machineKind, computeAPI, machine, t.located(object{
		"dependsOn": list{card, disk}, "identity": call("if", call("empty", variable("roleIdentities")),
			call("createObject", quoted("type"), quoted("SystemAssigned")),
			call("createObject", quoted("type"), quoted("SystemAssigned, UserAssigned"), quoted("userAssignedIdentities"),
				variable("roleIdentities"))),
		"properties": object{
			"hardwareProfile": object{"vmSize": parameter("machineSize")},
			"storageProfile": object{
				"imageReference": object{"publisher": "Debian", "offer": "debian-12", "sku": "12-gen2", "version": "latest"},
				"osDisk": object{"createOption": "FromImage", "deleteOption": "Delete",
					"managedDisk": object{"storageAccountType": "Premium_LRS"}},
				"dataDisks": list{object{"lun": 0, "createOption": "Attach", "deleteOption": "Detach",
					"managedDisk": object{"id": disk}}},
			},
			"osProfile": object{"computerName": "nuon-runner", "adminUsername": adminUser,
				"linuxConfiguration": object{"disablePasswordAuthentication": true, "ssh": object{"publicKeys": list{
					object{"path": "/home/" + adminUser + "/.ssh/authorized_keys", "keyData": parameter("sshPublicKey")}}}}},
			"securityProfile": object{"securityType": "TrustedLaunch",
				"uefiSettings": object{"secureBootEnabled": true, "vTpmEnabled": true}},
			"networkProfile": object{"networkInterfaces": list{object{"id": card,
				"properties": object{"primary": true, "deleteOption": "Delete"}}}},
			"userData": t.userData(),
		},
	}))
	t.dependOnRoles()
	principal := property(call("reference", id, quoted(computeAPI), quoted("Full")), "identity.principalId")
	t.addResource("Microsoft.Authorization/roleAssignments", roleAPI, call("guid", t.vaultID(), id), object{
		"scope": t.vaultID(), "dependsOn": list{t.vaultID(), id}, "properties": object{
			"roleDefinitionId": call("subscriptionResourceId", quoted("Microsoft.Authorization/roleDefinitions"),
				quoted(builtInRoles["Key Vault Secrets User"])),
			"principalType": "ServicePrincipal", "principalId": principal,
		}})
	t.addResource(machineKind+"/extensions", computeAPI, machine+"/boot", t.located(object{"dependsOn": list{id},
		"properties": object{"publisher": "Microsoft.Azure.Extensions", "type": "CustomScript", "typeHandlerVersion": "2.1",
			"autoUpgradeMinorVersion": true, "protectedSettings": object{"script": t.script()}}}))
}

// dependOnRoles makes the machine wait for the identities that it is given. Azure ignores a dependency on a resource
// whose condition is false.
func (t *template) dependOnRoles() {
	machine := t.resources[len(t.resources)-1].(object)
	depends := machine["dependsOn"].(list)
	for _, r := range t.resources {
		if r := r.(object); r["type"] == "Microsoft.ManagedIdentity/userAssignedIdentities" {
			depends = append(depends, resourceID(r["type"].(string), quoted(r["name"].(string))))
		}
	}
	machine["dependsOn"] = depends
}

// addCard adds the network interface of the machine.
func (t *template) addCard() expression {
	const kind = "Microsoft.Network/networkInterfaces"
	card := t.addResource(kind, networkAPI, t.name("-runner"), t.located(object{"properties": object{
		"ipConfigurations": list{object{"name": "primary", "properties": object{"privateIPAllocationMethod": "Dynamic",
			"subnet": object{"id": variable("runnerSubnetId")}}}}}}))
	if !t.stack.ExistingNetwork {
		card["dependsOn"] = list{variable("networkId")}
	}
	return resourceID(kind, quoted(t.name("-runner")))
}

// addDisk adds the disk with the runner's directory. Its keys are stored nowhere else, so it outlives the machine.
func (t *template) addDisk() expression {
	const kind = "Microsoft.Compute/disks"
	t.addResource(kind, diskAPI, t.name("-runner"), t.located(object{"sku": object{"name": "Premium_LRS"},
		"properties": object{"creationData": object{"createOption": "Empty"}, "diskSizeGB": 20}}))
	return resourceID(kind, quoted(t.name("-runner")))
}

// userData returns what the runner reports to the control plane, as package runnerd/cloud/azure reads it: the
// outputs of the stack, which every program on the machine can read.
func (t *template) userData() expression {
	keys := slices.Sorted(maps.Keys(t.reported))
	return call("base64", call("string", encodeObject([]string{"install", "stack_version", "outputs"},
		map[string]expression{"install": quoted(t.stack.Install.ID),
			"stack_version": quoted(strconv.Itoa(t.stack.Version)), "outputs": encodeObject(keys, t.reported)})))
}

// script returns the script that boots the runner. Azure runs it again when it changes. What the customer entered is
// encoded, so that no character of it is read by the shell.
func (t *template) script() expression {
	r := t.stack.Runner
	encoded := func(name string, value expression) expression {
		return call("concat", quoted(name+"=$(echo "), call("base64", call("string", value)), quoted(" | base64 -d)\n"))
	}
	return call("base64", call("concat", quoted("#!/bin/bash\n"),
		encoded("runner_url", quoted(r.URL)), encoded("download_url", quoted(r.DownloadURL)),
		encoded("sha256", quoted(r.SHA256)), encoded("claim", quoted(t.stack.Claim)),
		encoded("arguments", quoted(t.stack.RunnerArguments(identityName)+" --azure-audience "+r.AzureAudience)),
		encoded("vault", quoted(t.vaultName())),
		encoded("registry", parameter("registry")), encoded("registry_username", parameter("registryUsername")),
		encoded("registry_secret", call("if", call("empty", parameter("registryPassword")), quoted(""),
			quoted(registrySecret))),
		quoted(bootScript+installstack.Unit("azure")+"END\nsystemctl daemon-reload\nsystemctl enable nuon-runner.service\n"+
			"systemctl restart nuon-runner.service\n")))
}
