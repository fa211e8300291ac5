package libvirt

import "context"

// Procedure numbers of libvirt's remote protocol.
const (
	procOpen             = 1
	procVersion          = 4
	procNodeInfo         = 6
	procCapabilities     = 7
	procCreate           = 9
	procCreateXML        = 10
	procDestroy          = 12
	procXML              = 14
	procLookupName       = 23
	procLookupUUID       = 24
	procShutdown         = 33
	procUndefine         = 35
	procHostname         = 59
	procAuthList         = 66
	procPoolRefresh      = 83 // virStoragePool...
	procPoolLookup       = 84
	procPoolXML          = 88
	procVolumeCreate     = 93 // virStorageVol...
	procVolumeDelete     = 94
	procVolumeLookup     = 95
	procVolumeCreateFrom = 125
	procAuthPolkit       = 70
	procLibVersion       = 157
	procAbortJob         = 164
	procIsPersistent     = 151
	procManagedSave      = 182
	procHasManagedSave   = 183
	procSnapshotCreate   = 185 // virDomainSnapshotCreateXML and so on
	procSnapshotNames    = 188
	procSnapshotCurrent  = 191
	procSnapshotRevert   = 192
	procSnapshotDelete   = 193
	procState            = 212
	procUndefineFlags    = 231
	procBlockJobAbort    = 237
	procBlockJobInfo     = 238
	procSetMetadata      = 264
	procListAll          = 273
	procPoolVolumes      = 282 // virStoragePoolListAllVolumes
	procBlockCommit      = 290
	procOpenChannel      = 296
	procJobStatistics    = 298
	procMigrateBegin     = 302 // these are virDomainMigrateBegin3Params and so on
	procMigratePrepare   = 303
	procMigratePerform   = 305
	procMigrateFinish    = 306
	procMigrateConfirm   = 307
	procRegisterAny      = 316 // virConnectDomainEventRegisterAny, with a callback's number
	procLifecycle        = 318 // the event of that name
	procAllStatistics    = 344
	procDefineXML        = 350 // virDomainDefineXMLFlags
	procDirtyRate        = 427
)

// call calls a procedure.
func (c *Conn) call(ctx context.Context, procedure int32, args []byte) ([]byte, error) {
	body, _, err := c.begin(ctx, procedure, args, nil)
	return body, err
}

// begin is call with an optional stream.
func (c *Conn) begin(ctx context.Context, procedure int32, args []byte, s *Stream) (body []byte, serial uint32, err error) {
	answer := make(chan message, 1)
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return nil, 0, unsent{c.reason()}
	}
	c.serial++
	serial = c.serial
	c.waiting[serial] = answer
	if s != nil {
		s.serial = serial
		c.streams[serial] = s
	}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, serial)
		if err != nil {
			delete(c.streams, serial)
		}
	}()
	if err := c.write(message{header{programRemote, programVersion, procedure, kindCall, serial, statusDone}, args}); err != nil {
		return nil, serial, err
	}
	select {
	case m := <-answer:
		if m.status == statusError {
			return nil, serial, decodeError(m.body)
		}
		return m.body, serial, nil
	case <-ctx.Done():
		return nil, serial, context.Cause(ctx)
	case <-c.done:
		return nil, serial, c.reason()
	}
}
