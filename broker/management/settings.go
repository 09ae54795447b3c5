package management

import (
	"encoding/json"
	"fmt"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/config"
)

func notAvailable(what string) error { return fmt.Errorf("%s cannot be changed on this broker", what) }

// addressSettings are the settings of an address as JSON: those that were set somewhere.
func (g *Registry) addressSettings(match string) string {
	var merged config.AddressSetting
	if g.env.Settings != nil {
		for _, s := range g.env.Settings.Find(match) {
			merged.Merge(s)
		}
	}
	in := g.b.SettingsFor(match)
	unit, page := in.SlowConsumerUnit, in.ManagementBrowsePageSize
	merged.SlowConsumerUnit, merged.ManagementBrowsePageSize = &unit, &page
	return JSON(merged)
}

// addAddressSettings sets the settings of a match, which then outlive restarts. It returns them.
func (g *Registry) addAddressSettings(match, text string) (string, error) {
	if g.env.Settings == nil {
		return "", notAvailable("address settings")
	}
	s := &config.AddressSetting{Match: match}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		if _, ok := err.(*json.SyntaxError); ok {
			return "", badJSON(text, err)
		}
		return "", err
	}
	stored := JSON(*s)
	if err := g.b.Store().StoreConfig(broker.StoredConfig{Kind: broker.AddressSettingConfig, Key: match, JSON: stored}); err != nil {
		return "", err
	}
	if err := g.env.Settings.Put(match, s); err != nil {
		return "", err
	}
	g.b.SettingsChanged()
	return stored, nil
}

func (g *Registry) removeAddressSettings(match string) error {
	if g.env.Settings == nil {
		return notAvailable("address settings")
	}
	if err := g.b.Store().DeleteConfig(broker.AddressSettingConfig, match); err != nil {
		return err
	}
	g.env.Settings.Remove(match)
	g.b.SettingsChanged()
	return nil
}

// oldSettings are the keys of the parameters of the overloads of addAddressSettings that take single values, after the
// match. Each overload takes so many of them as its name says.
var oldSettings = []string{
	"DLA:deadLetterAddress string", "expiryAddress string", "expiryDelay long", "lastValueQueue:defaultLastValueQueue bool", "deliveryAttempts:maxDeliveryAttempts int",
	"maxSizeBytes long", "pageSizeBytes int", "pageMaxCacheSize:pageCacheMaxSize int", "redeliveryDelay long", "redeliveryMultiplier double", "maxRedeliveryDelay long",
	"redistributionDelay long", "sendToDLAOnNoRoute bool", "addressFullMessagePolicy string", "slowConsumerThreshold long", "slowConsumerCheckPeriod long",
	"slowConsumerPolicy string", "autoCreateJmsQueues bool", "autoDeleteJmsQueues bool", "autoCreateJmsTopics bool", "autoDeleteJmsTopics bool",
	"autoCreateQueues bool", "autoDeleteQueues bool", "autoCreateAddresses bool", "autoDeleteAddresses bool", "configDeleteQueues string", "configDeleteAddresses string",
	"maxSizeBytesRejectThreshold long", "defaultLastValueKey string", "defaultNonDestructive bool", "defaultExclusiveQueue bool", "defaultGroupRebalance bool",
	"defaultGroupBuckets int", "defaultGroupFirstKey string", "defaultMaxConsumers int", "defaultPurgeOnNoConsumers bool", "defaultConsumersBeforeDispatch int",
	"defaultDelayBeforeDispatch long", "defaultQueueRoutingType string", "defaultAddressRoutingType string", "defaultConsumerWindowSize int", "defaultRingSize long",
	"autoDeleteCreatedQueues bool", "autoDeleteQueuesDelay long", "autoDeleteQueuesMessageCount long", "autoDeleteAddressesDelay long",
	"redeliveryCollisionAvoidanceFactor double", "retroactiveMessageCount long", "autoCreateDeadLetterResources bool", "deadLetterQueuePrefix string",
	"deadLetterQueueSuffix string", "autoCreateExpiryResources bool", "expiryQueuePrefix string", "expiryQueueSuffix string", "minExpiryDelay long",
	"maxExpiryDelay long", "enableMetrics bool",
}

// oldSettingsCounts are how many of those the overloads take.
var oldSettingsCounts = []int{21, 25, 48, 54, 57}
