// Package management is the registry of what can be managed: the broker itself, its addresses, queues, diverts and
// acceptors. Each attribute and operation is described once, with its name, types, impact and meaning, as Artemis'
// controls have them; management messages, Jolokia, REST and the command line are views of that description.
//
// # Resources
//
//	broker              the server
//	address.<name>      an address
//	queue.<name>        a queue
//	divert.<name>       a divert
//	acceptor.<name>     an acceptor
//
// Resources are looked up in the engine when they are asked for; nothing is kept that could be out of step with it.
// What lies outside the engine comes in through Environment.
//
// # Management messages
//
// A message to the management address names a resource (_AMQ_ResourceName) and either an attribute (_AMQ_Attribute) or an
// operation (_AMQ_OperationName); its body is a nullable SimpleString, the JSON array of parameters. The reply goes to the
// address in JMSReplyTo: a text message, not durable, priority 0, whose body is a nullable SimpleString, a JSON array with
// the one result (null for nothing), and _AMQ_OperationSucceeded. See Handle. Messages that browse shows are in it as Java
// clients read them: serialized objects in base64 (see compositeData).
//
// # Notifications
//
// Notifier turns what the engine reports into messages on the notification address, while somebody is bound to it.
package management
