// Package export writes the messages of a stopped broker as XML, and reads such a file, in the format of `artemis data exp`
// and `data imp`:
//
//	(empty line)
//	<activemq-journal>
//	   <bindings>
//	      <address-binding routing-types="ANYCAST,MULTICAST" name="…" id="…"/>
//	      <queue-binding address="…" filter-string="" name="…" id="…" routing-type="ANYCAST"/>
//	   </bindings>
//	   <messages>
//	      <message id="32" priority="4" expiration="0" timestamp="1700000000000" type="text" [user-id="…"]>
//	         <properties><property name="n" value="0" type="integer"/></properties>
//	         <queues><queue name="orders"/></queues>
//	         <body><![CDATA[base64]]></body>
//	      </message>
//
// There is no XML declaration. A large body has isLarge="true" and one CDATA section per 1000 bytes. Base64 is of the URL-safe
// alphabet, with padding, without line breaks. Message types: default bytes map object stream text. Property types: boolean
// byte bytes short integer long float double string simple-string; null is the value _AMQ_NULL of type bytes; a char has no
// type. What is in doubt, schedules set by record 36, delivery counts, duplicate ids and settings are not exported.
//
// Source: spec journal §8.2; output of Artemis 2.40.0.
package export

import "github.com/saranga-mq/saranga/broker/message"

// messageTypes are the names of the Core message types.
var messageTypes = map[message.Type]string{0: "default", 2: "object", 3: "text", 4: "bytes", 5: "map", 6: "stream"}

// nullValue stands for a null property.
const nullValue = "_AMQ_NULL"

// largeChunk is how many bytes of a large body are in one CDATA section.
const largeChunk = 1000
