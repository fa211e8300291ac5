package vijson

import (
	"reflect"

	"github.com/vmware/govmomi/vim25/types"
)

// response is the type of the reply to a method of the simulator; govmomi has no table of them.
func response(method string) (reflect.Type, bool) {
	for _, is := range append(responses(), more()...) {
		if is.Name() == method+"Response" {
			return is, true
		}
	}
	return nil, false
}

// responses are the replies to the methods up to those that begin with M.
func responses() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[types.AcknowledgeAlarmResponse](), reflect.TypeFor[types.AcquireCloneTicketResponse](), reflect.TypeFor[types.AcquireGenericServiceTicketResponse](),
		reflect.TypeFor[types.AcquireTicketResponse](), reflect.TypeFor[types.AddAuthorizationRoleResponse](), reflect.TypeFor[types.AddCustomFieldDefResponse](),
		reflect.TypeFor[types.AddDVPortgroup_TaskResponse](), reflect.TypeFor[types.AddHost_TaskResponse](), reflect.TypeFor[types.AddLicenseResponse](),
		reflect.TypeFor[types.AddPortGroupResponse](), reflect.TypeFor[types.AddStandaloneHost_TaskResponse](), reflect.TypeFor[types.AddVirtualSwitchResponse](),
		reflect.TypeFor[types.ApplyRecommendationResponse](), reflect.TypeFor[types.AttachDisk_TaskResponse](), reflect.TypeFor[types.AttachTagToVStorageObjectResponse](),
		reflect.TypeFor[types.CancelRecommendationResponse](), reflect.TypeFor[types.CancelRetrievePropertiesExResponse](), reflect.TypeFor[types.CancelTaskResponse](),
		reflect.TypeFor[types.CancelWaitForUpdatesResponse](), reflect.TypeFor[types.ChangeFileAttributesInGuestResponse](), reflect.TypeFor[types.CheckCompatibility_TaskResponse](),
		reflect.TypeFor[types.CheckForUpdatesResponse](), reflect.TypeFor[types.CheckRelocate_TaskResponse](), reflect.TypeFor[types.CheckVmConfig_TaskResponse](),
		reflect.TypeFor[types.CloneSessionResponse](), reflect.TypeFor[types.CloneVApp_TaskResponse](), reflect.TypeFor[types.CloneVM_TaskResponse](),
		reflect.TypeFor[types.ConfigureStorageDrsForPod_TaskResponse](), reflect.TypeFor[types.ContinueRetrievePropertiesExResponse](), reflect.TypeFor[types.ConvertNamespacePathToUuidPathResponse](),
		reflect.TypeFor[types.CopyDatastoreFile_TaskResponse](), reflect.TypeFor[types.CopyVirtualDisk_TaskResponse](), reflect.TypeFor[types.CreateAlarmResponse](),
		reflect.TypeFor[types.CreateChildVM_TaskResponse](), reflect.TypeFor[types.CreateClusterExResponse](), reflect.TypeFor[types.CreateCollectorForEventsResponse](),
		reflect.TypeFor[types.CreateCollectorForTasksResponse](), reflect.TypeFor[types.CreateContainerViewResponse](), reflect.TypeFor[types.CreateCustomizationSpecResponse](),
		reflect.TypeFor[types.CreateDVS_TaskResponse](), reflect.TypeFor[types.CreateDatacenterResponse](), reflect.TypeFor[types.CreateDirectoryResponse](),
		reflect.TypeFor[types.CreateDisk_TaskResponse](), reflect.TypeFor[types.CreateFilterResponse](), reflect.TypeFor[types.CreateFolderResponse](),
		reflect.TypeFor[types.CreateImportSpecResponse](), reflect.TypeFor[types.CreateIpPoolResponse](), reflect.TypeFor[types.CreateListViewResponse](),
		reflect.TypeFor[types.CreateLocalDatastoreResponse](), reflect.TypeFor[types.CreateNasDatastoreResponse](), reflect.TypeFor[types.CreatePropertyCollectorResponse](),
		reflect.TypeFor[types.CreateResourcePoolResponse](), reflect.TypeFor[types.CreateSnapshotEx_TaskResponse](), reflect.TypeFor[types.CreateSnapshot_TaskResponse](),
		reflect.TypeFor[types.CreateStoragePodResponse](), reflect.TypeFor[types.CreateTaskResponse](), reflect.TypeFor[types.CreateTemporaryDirectoryInGuestResponse](),
		reflect.TypeFor[types.CreateTemporaryFileInGuestResponse](), reflect.TypeFor[types.CreateUserResponse](), reflect.TypeFor[types.CreateVAppResponse](),
		reflect.TypeFor[types.CreateVM_TaskResponse](), reflect.TypeFor[types.CreateVirtualDisk_TaskResponse](), reflect.TypeFor[types.CurrentTimeResponse](),
		reflect.TypeFor[types.CustomizeVM_TaskResponse](), reflect.TypeFor[types.DVSManagerLookupDvPortGroupResponse](), reflect.TypeFor[types.DecodeLicenseResponse](),
		reflect.TypeFor[types.DeleteDatastoreFile_TaskResponse](), reflect.TypeFor[types.DeleteDirectoryResponse](), reflect.TypeFor[types.DeleteDirectoryInGuestResponse](),
		reflect.TypeFor[types.DeleteFileInGuestResponse](), reflect.TypeFor[types.DeleteSnapshot_TaskResponse](), reflect.TypeFor[types.DeleteVStorageObject_TaskResponse](),
		reflect.TypeFor[types.DeleteVirtualDisk_TaskResponse](), reflect.TypeFor[types.DestroyChildrenResponse](), reflect.TypeFor[types.DestroyCollectorResponse](),
		reflect.TypeFor[types.DestroyIpPoolResponse](), reflect.TypeFor[types.DestroyPropertyCollectorResponse](), reflect.TypeFor[types.DestroyPropertyFilterResponse](),
		reflect.TypeFor[types.DestroyViewResponse](), reflect.TypeFor[types.Destroy_TaskResponse](), reflect.TypeFor[types.DetachDisk_TaskResponse](),
		reflect.TypeFor[types.DetachTagFromVStorageObjectResponse](), reflect.TypeFor[types.DisableRulesetResponse](), reflect.TypeFor[types.DisconnectHost_TaskResponse](),
		reflect.TypeFor[types.DoesCustomizationSpecExistResponse](), reflect.TypeFor[types.EnableRulesetResponse](), reflect.TypeFor[types.EnterMaintenanceMode_TaskResponse](),
		reflect.TypeFor[types.ExitMaintenanceMode_TaskResponse](), reflect.TypeFor[types.ExportSnapshotResponse](), reflect.TypeFor[types.ExtendDisk_TaskResponse](),
		reflect.TypeFor[types.ExtendVirtualDisk_TaskResponse](), reflect.TypeFor[types.FetchDVPortsResponse](), reflect.TypeFor[types.FetchUserPrivilegeOnEntitiesResponse](),
		reflect.TypeFor[types.FindAllByDnsNameResponse](), reflect.TypeFor[types.FindAllByIpResponse](), reflect.TypeFor[types.FindAllByUuidResponse](),
		reflect.TypeFor[types.FindByDatastorePathResponse](), reflect.TypeFor[types.FindByDnsNameResponse](), reflect.TypeFor[types.FindByInventoryPathResponse](),
		reflect.TypeFor[types.FindByIpResponse](), reflect.TypeFor[types.FindByUuidResponse](), reflect.TypeFor[types.FindChildResponse](),
		reflect.TypeFor[types.FindExtensionResponse](), reflect.TypeFor[types.GenerateCertificateSigningRequestResponse](), reflect.TypeFor[types.GenerateKeyResponse](),
		reflect.TypeFor[types.GetAlarmResponse](), reflect.TypeFor[types.GetCustomizationSpecResponse](), reflect.TypeFor[types.GetDefaultKmsClusterResponse](),
		reflect.TypeFor[types.GetResourceUsageResponse](), reflect.TypeFor[types.HasPrivilegeOnEntitiesResponse](), reflect.TypeFor[types.HasPrivilegeOnEntityResponse](),
		reflect.TypeFor[types.HasUserPrivilegeOnEntitiesResponse](), reflect.TypeFor[types.HttpNfcLeaseAbortResponse](), reflect.TypeFor[types.HttpNfcLeaseCompleteResponse](),
		reflect.TypeFor[types.HttpNfcLeaseGetManifestResponse](), reflect.TypeFor[types.HttpNfcLeaseProgressResponse](), reflect.TypeFor[types.ImpersonateUserResponse](),
		reflect.TypeFor[types.ImportVAppResponse](), reflect.TypeFor[types.InitiateFileTransferFromGuestResponse](), reflect.TypeFor[types.InitiateFileTransferToGuestResponse](),
		reflect.TypeFor[types.InstallServerCertificateResponse](), reflect.TypeFor[types.ListFilesInGuestResponse](), reflect.TypeFor[types.ListKeysResponse](),
		reflect.TypeFor[types.ListKmipServersResponse](), reflect.TypeFor[types.ListProcessesInGuestResponse](), reflect.TypeFor[types.ListTagsAttachedToVStorageObjectResponse](),
		reflect.TypeFor[types.ListVStorageObjectResponse](), reflect.TypeFor[types.ListVStorageObjectsAttachedToTagResponse](), reflect.TypeFor[types.LoginResponse](),
		reflect.TypeFor[types.LoginByTokenResponse](), reflect.TypeFor[types.LoginExtensionByCertificateResponse](), reflect.TypeFor[types.LogoutResponse](),
		reflect.TypeFor[types.MakeDirectoryResponse](), reflect.TypeFor[types.MakeDirectoryInGuestResponse](),
	}
}

// more are the other replies.
func more() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[types.MarkAsTemplateResponse](), reflect.TypeFor[types.MarkAsVirtualMachineResponse](), reflect.TypeFor[types.MarkServiceProviderEntitiesResponse](),
		reflect.TypeFor[types.MigrateVM_TaskResponse](), reflect.TypeFor[types.ModifyListViewResponse](), reflect.TypeFor[types.MoveDatastoreFile_TaskResponse](),
		reflect.TypeFor[types.MoveDirectoryInGuestResponse](), reflect.TypeFor[types.MoveFileInGuestResponse](), reflect.TypeFor[types.MoveIntoFolder_TaskResponse](),
		reflect.TypeFor[types.MoveInto_TaskResponse](), reflect.TypeFor[types.MoveVirtualDisk_TaskResponse](), reflect.TypeFor[types.OverwriteCustomizationSpecResponse](),
		reflect.TypeFor[types.PlaceVmResponse](), reflect.TypeFor[types.PostEventResponse](), reflect.TypeFor[types.PowerOffVM_TaskResponse](),
		reflect.TypeFor[types.PowerOnMultiVM_TaskResponse](), reflect.TypeFor[types.PowerOnVM_TaskResponse](), reflect.TypeFor[types.PromoteDisks_TaskResponse](),
		reflect.TypeFor[types.QueryAssignedLicensesResponse](), reflect.TypeFor[types.QueryAvailablePerfMetricResponse](), reflect.TypeFor[types.QueryConfigOptionResponse](),
		reflect.TypeFor[types.QueryConfigOptionDescriptorResponse](), reflect.TypeFor[types.QueryConfigOptionExResponse](), reflect.TypeFor[types.QueryConfigTargetResponse](),
		reflect.TypeFor[types.QueryCryptoKeyStatusResponse](), reflect.TypeFor[types.QueryEventsResponse](), reflect.TypeFor[types.QueryIPAllocationsResponse](),
		reflect.TypeFor[types.QueryIpPoolsResponse](), reflect.TypeFor[types.QueryNetConfigResponse](), reflect.TypeFor[types.QueryNetworkHintResponse](),
		reflect.TypeFor[types.QueryOptionsResponse](), reflect.TypeFor[types.QueryPerfResponse](), reflect.TypeFor[types.QueryPerfCompositeResponse](),
		reflect.TypeFor[types.QueryPerfCounterResponse](), reflect.TypeFor[types.QueryPerfProviderSummaryResponse](), reflect.TypeFor[types.QueryTargetCapabilitiesResponse](),
		reflect.TypeFor[types.QueryTpmAttestationReportResponse](), reflect.TypeFor[types.QueryVirtualDiskUuidResponse](), reflect.TypeFor[types.ReadNextEventsResponse](),
		reflect.TypeFor[types.ReadNextTasksResponse](), reflect.TypeFor[types.ReadPreviousEventsResponse](), reflect.TypeFor[types.ReadPreviousTasksResponse](),
		reflect.TypeFor[types.RebootGuestResponse](), reflect.TypeFor[types.RecommendDatastoresResponse](), reflect.TypeFor[types.RecommendHostsForVmResponse](),
		reflect.TypeFor[types.ReconcileDatastoreInventory_TaskResponse](), reflect.TypeFor[types.ReconfigVM_TaskResponse](), reflect.TypeFor[types.ReconfigureAlarmResponse](),
		reflect.TypeFor[types.ReconfigureComputeResource_TaskResponse](), reflect.TypeFor[types.ReconfigureDVPortgroup_TaskResponse](), reflect.TypeFor[types.ReconfigureDvs_TaskResponse](),
		reflect.TypeFor[types.ReconnectHost_TaskResponse](), reflect.TypeFor[types.RefreshDatastoreResponse](), reflect.TypeFor[types.RefreshRecommendationResponse](),
		reflect.TypeFor[types.RefreshStorageInfoResponse](), reflect.TypeFor[types.RefreshStorageSystemResponse](), reflect.TypeFor[types.RegisterDiskResponse](),
		reflect.TypeFor[types.RegisterExtensionResponse](), reflect.TypeFor[types.RegisterKmipServerResponse](), reflect.TypeFor[types.RegisterKmsClusterResponse](),
		reflect.TypeFor[types.RegisterVM_TaskResponse](), reflect.TypeFor[types.ReleaseIpAllocationResponse](), reflect.TypeFor[types.ReloadResponse](),
		reflect.TypeFor[types.RelocateVM_TaskResponse](), reflect.TypeFor[types.RemoveAlarmResponse](), reflect.TypeFor[types.RemoveAllSnapshots_TaskResponse](),
		reflect.TypeFor[types.RemoveAuthorizationRoleResponse](), reflect.TypeFor[types.RemoveCustomFieldDefResponse](), reflect.TypeFor[types.RemoveEntityPermissionResponse](),
		reflect.TypeFor[types.RemoveKmipServerResponse](), reflect.TypeFor[types.RemoveLicenseResponse](), reflect.TypeFor[types.RemovePortGroupResponse](),
		reflect.TypeFor[types.RemoveSnapshot_TaskResponse](), reflect.TypeFor[types.RemoveUserResponse](), reflect.TypeFor[types.RemoveVirtualSwitchResponse](),
		reflect.TypeFor[types.RenameCustomFieldDefResponse](), reflect.TypeFor[types.Rename_TaskResponse](), reflect.TypeFor[types.RescanAllHbaResponse](),
		reflect.TypeFor[types.RescanVmfsResponse](), reflect.TypeFor[types.ResetCollectorResponse](), reflect.TypeFor[types.ResetListViewResponse](),
		reflect.TypeFor[types.ResetVM_TaskResponse](), reflect.TypeFor[types.RetrieveAllPermissionsResponse](), reflect.TypeFor[types.RetrieveEntityPermissionsResponse](),
		reflect.TypeFor[types.RetrieveKmipServersStatus_TaskResponse](), reflect.TypeFor[types.RetrievePropertiesResponse](), reflect.TypeFor[types.RetrievePropertiesExResponse](),
		reflect.TypeFor[types.RetrieveRolePermissionsResponse](), reflect.TypeFor[types.RetrieveServiceContentResponse](), reflect.TypeFor[types.RetrieveServiceProviderEntitiesResponse](),
		reflect.TypeFor[types.RetrieveSnapshotInfoResponse](), reflect.TypeFor[types.RetrieveUserGroupsResponse](), reflect.TypeFor[types.RetrieveVStorageObjectResponse](),
		reflect.TypeFor[types.RevertToCurrentSnapshot_TaskResponse](), reflect.TypeFor[types.RevertToSnapshot_TaskResponse](), reflect.TypeFor[types.RewindCollectorResponse](),
		reflect.TypeFor[types.SearchDatastoreSubFolders_TaskResponse](), reflect.TypeFor[types.SearchDatastore_TaskResponse](), reflect.TypeFor[types.SessionIsActiveResponse](),
		reflect.TypeFor[types.SetCollectorPageSizeResponse](), reflect.TypeFor[types.SetCustomValueResponse](), reflect.TypeFor[types.SetDefaultKmsClusterResponse](),
		reflect.TypeFor[types.SetEntityPermissionsResponse](), reflect.TypeFor[types.SetExtensionCertificateResponse](), reflect.TypeFor[types.SetFieldResponse](),
		reflect.TypeFor[types.SetTaskDescriptionResponse](), reflect.TypeFor[types.SetTaskStateResponse](), reflect.TypeFor[types.SetVirtualDiskUuidResponse](),
		reflect.TypeFor[types.ShutdownGuestResponse](), reflect.TypeFor[types.ShutdownHost_TaskResponse](), reflect.TypeFor[types.StandbyGuestResponse](),
		reflect.TypeFor[types.StartProgramInGuestResponse](), reflect.TypeFor[types.SuspendVM_TaskResponse](), reflect.TypeFor[types.TerminateProcessInGuestResponse](),
		reflect.TypeFor[types.TerminateSessionResponse](), reflect.TypeFor[types.UnmarkServiceProviderEntitiesResponse](), reflect.TypeFor[types.UnregisterExtensionResponse](),
		reflect.TypeFor[types.UnregisterKmsClusterResponse](), reflect.TypeFor[types.UnregisterVMResponse](), reflect.TypeFor[types.UpdateAssignedLicenseResponse](),
		reflect.TypeFor[types.UpdateAuthorizationRoleResponse](), reflect.TypeFor[types.UpdateConfigResponse](), reflect.TypeFor[types.UpdateExtensionResponse](),
		reflect.TypeFor[types.UpdateIpPoolResponse](), reflect.TypeFor[types.UpdateKmipServerResponse](), reflect.TypeFor[types.UpdateLicenseLabelResponse](),
		reflect.TypeFor[types.UpdateNetworkConfigResponse](), reflect.TypeFor[types.UpdateOptionsResponse](), reflect.TypeFor[types.UpdateProgressResponse](),
		reflect.TypeFor[types.UpgradeVM_TaskResponse](), reflect.TypeFor[types.VCenterUpdateVStorageObjectMetadataEx_TaskResponse](), reflect.TypeFor[types.VStorageObjectCreateSnapshot_TaskResponse](),
		reflect.TypeFor[types.WaitForUpdatesResponse](), reflect.TypeFor[types.WaitForUpdatesExResponse](),
	}
}
