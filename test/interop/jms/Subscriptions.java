package interop;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

import javax.jms.Connection;
import javax.jms.JMSConsumer;
import javax.jms.JMSContext;
import javax.jms.MessageConsumer;
import javax.jms.Session;
import javax.jms.Topic;

/** Subscriptions of topics: plain, durable, shared, both; their queues; who may use and end them. */
final class Subscriptions {

   static void addTo(Cases cases) {
      cases.add("subscription.plain", Subscriptions::plain);
      cases.add("subscription.durable", Subscriptions::durable);
      cases.add("subscription.durable.changed", Subscriptions::changed);
      cases.add("subscription.durable.taken", Subscriptions::taken);
      cases.add("subscription.durable.unsubscribe", Subscriptions::unsubscribe);
      cases.add("subscription.durable.selector", Subscriptions::selector);
      cases.add("subscription.durable.nolocal", Subscriptions::noLocal);
      cases.add("subscription.shared", Subscriptions::shared);
      cases.add("subscription.shared.durable", Subscriptions::sharedDurable);
      cases.add("subscription.shared.mixed", Subscriptions::mixed);
      cases.add("subscription.shared.changed", Subscriptions::sharedChanged);
      cases.add("subscription.clientid", Subscriptions::clientID);
      cases.add("subscription.wildcard", Subscriptions::wildcard);
      cases.add("subscription.context", Subscriptions::context);
   }

   private static Session sessionAs(Case c, String clientID) throws Exception {
      return c.connectAs(c.named(clientID)).createSession(false, Session.AUTO_ACKNOWLEDGE);
   }

   private static void plain(Case c) throws Exception {
      Session session = c.session();
      Topic topic = c.topic(session, "t");
      c.send(session, topic, "nobody listens");
      MessageConsumer one = session.createConsumer(topic);
      MessageConsumer other = session.createConsumer(topic);
      c.send(session, topic, "a", "b");
      c.fact("one", c.drain(one));
      c.fact("other", c.drain(other));
      one.close();
      c.send(session, topic, "c");
      c.fact("other goes on", c.receive(other, 1));
      c.fact("new one", c.drain(session.createConsumer(topic)));
   }

   private static void durable(Case c) throws Exception {
      Connection connection = c.connectAs(c.named("client"));
      Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      Topic topic = c.topic(session, "t");
      MessageConsumer subscriber = session.createDurableSubscriber(topic, "sub");
      c.send(session, topic, "a", "b", "c");
      c.fact("online", c.receive(subscriber, 1));
      connection.close();
      Session sender = c.session();
      c.send(sender, topic, "d");
      c.fact("waiting", c.count(c.subscription("client", "sub")));
      Session again = sessionAs(c, "client");
      c.fact("later", c.receive(again.createDurableSubscriber(topic, "sub"), 3));
   }

   /** Another topic or selector under the same name is another subscription. */
   private static void changed(Case c) throws Exception {
      Session session = sessionAs(c, "client");
      Topic first = c.topic(session, "first");
      Topic second = c.topic(session, "second");
      session.createDurableSubscriber(first, "sub").close();
      c.send(session, first, "a", "b");
      session.createDurableSubscriber(first, "sub", "n = 5", false).close();
      c.fact("after a new selector", c.count(c.subscription("client", "sub")));
      c.send(session, first, "c");
      MessageConsumer moved = session.createDurableSubscriber(second, "sub");
      c.send(session, first, "old topic");
      c.send(session, second, "new topic");
      c.fact("after a new topic", c.drain(moved));
   }

   private static void taken(Case c) throws Exception {
      Session session = sessionAs(c, "client");
      Topic topic = c.topic(session, "t");
      MessageConsumer subscriber = session.createDurableSubscriber(topic, "sub");
      c.thrown("second subscriber", () -> session.createDurableSubscriber(topic, "sub"));
      c.thrown("shared consumer of the same name", () -> session.createSharedDurableConsumer(topic, "sub"));
      subscriber.close();
      c.thrown("after close", () -> session.createDurableSubscriber(topic, "sub").close());
      Session anonymous = c.session();
      c.thrown("without a client id", () -> anonymous.createDurableSubscriber(topic, "sub"));
   }

   private static void unsubscribe(Case c) throws Exception {
      Session session = sessionAs(c, "client");
      Topic topic = c.topic(session, "t");
      MessageConsumer subscriber = session.createDurableSubscriber(topic, "sub");
      c.thrown("while subscribed", () -> session.unsubscribe("sub"));
      subscriber.close();
      c.fact("queue before", c.exists(c.subscription("client", "sub")));
      c.thrown("after close", () -> session.unsubscribe("sub"));
      c.fact("queue after", c.exists(c.subscription("client", "sub")));
      c.thrown("again", () -> session.unsubscribe("sub"));
      c.thrown("unknown", () -> session.unsubscribe("never"));
   }

   private static void selector(Case c) throws Exception {
      Session session = sessionAs(c, "client");
      Topic topic = c.topic(session, "t");
      session.createDurableSubscriber(topic, "sub", "n > 1", false).close();
      c.send(session, topic, Case.array(Case.texts("m", 4)));
      c.fact("waiting", c.count(c.subscription("client", "sub")));
      c.fact("received", c.receive(session.createDurableSubscriber(topic, "sub", "n > 1", false), 2));
      c.thrown("invalid", () -> session.createDurableSubscriber(topic, "other", "n >", false));
   }

   private static void noLocal(Case c) throws Exception {
      Session session = sessionAs(c, "client");
      Topic topic = c.topic(session, "t");
      MessageConsumer durable = session.createDurableSubscriber(topic, "sub", null, true);
      MessageConsumer plain = session.createConsumer(topic, null, true);
      c.send(session, topic, "local");
      c.send(c.session(), topic, "remote");
      c.fact("durable", c.drain(durable));
      c.fact("plain", c.drain(plain));
   }

   private static void shared(Case c) throws Exception {
      Session one = c.session();
      Session other = c.session();
      Topic topic = c.topic(one, "t");
      MessageConsumer first = one.createSharedConsumer(topic, c.named("group"));
      MessageConsumer second = other.createSharedConsumer(topic, c.named("group"));
      MessageConsumer alone = other.createSharedConsumer(topic, c.named("alone"));
      c.send(one, topic, Case.array(Case.texts("m", 6)));
      List<String> a = c.receive(first, 3);
      List<String> b = c.receive(second, 3);
      c.fact("first", a.size());
      c.fact("second", b.size());
      TreeSet<String> all = new TreeSet<>(a);
      all.addAll(b);
      c.fact("together", all);
      c.fact("alone", c.receive(alone, 6));
      first.close();
      second.close();
      c.eventually("queue after its last consumer", false, () -> c.exists("nonDurable." + Case.shared(c.named("group"))));
      c.send(one, topic, "lost");
      c.fact("nothing was kept", c.drain(one.createSharedConsumer(topic, c.named("group"))));
   }

   private static void sharedDurable(Case c) throws Exception {
      Session session = c.session();
      Topic topic = c.topic(session, "t");
      MessageConsumer first = session.createSharedDurableConsumer(topic, c.named("global"));
      MessageConsumer second = session.createSharedDurableConsumer(topic, c.named("global"));
      c.send(session, topic, Case.array(Case.texts("m", 4)));
      List<String> all = new ArrayList<>(c.receive(first, 2));
      all.addAll(c.receive(second, 2));
      c.fact("together", new TreeSet<>(all));
      c.thrown("unsubscribe with consumers", () -> session.unsubscribe(c.named("global")));
      first.close();
      second.close();
      c.send(session, topic, "offline");
      c.fact("waiting", c.count(Case.shared(c.named("global"))));
      MessageConsumer again = session.createSharedDurableConsumer(topic, c.named("global"));
      c.fact("later", c.receive(again, 1));
      again.close();
      c.thrown("unsubscribe", () -> session.unsubscribe(c.named("global")));
      c.fact("queue", c.exists(Case.shared(c.named("global"))));

      Session named = sessionAs(c, "client");
      named.createSharedDurableConsumer(topic, "sub").close();
      c.fact("queue with client id", c.exists(c.subscription("client", "sub")));
   }

   private static void mixed(Case c) throws Exception {
      Session session = c.session();
      Topic topic = c.topic(session, "t");
      session.createSharedConsumer(topic, c.named("sub"));
      c.thrown("durable on the name of a plain shared one", () -> session.createSharedDurableConsumer(topic, c.named("sub")));
      session.createSharedDurableConsumer(topic, c.named("durable"));
      c.thrown("plain shared on the name of a durable one", () -> session.createSharedConsumer(topic, c.named("durable")));
      Session client = sessionAs(c, "client");
      client.createSharedDurableConsumer(topic, "sub");
      c.thrown("unshared on the name of a shared one", () -> client.createDurableSubscriber(topic, "sub"));
   }

   private static void sharedChanged(Case c) throws Exception {
      Session session = c.session();
      Topic topic = c.topic(session, "t");
      Topic other = c.topic(session, "other");
      MessageConsumer consumer = session.createSharedDurableConsumer(topic, c.named("sub"), "n = 1");
      c.thrown("other selector while used", () -> session.createSharedDurableConsumer(topic, c.named("sub"), "n = 2"));
      c.thrown("other topic while used", () -> session.createSharedDurableConsumer(other, c.named("sub"), "n = 1"));
      consumer.close();
      c.send(session, topic, Case.array(Case.texts("m", 3)));
      c.fact("waiting", c.count(Case.shared(c.named("sub"))));
      c.thrown("other selector when unused", () -> session.createSharedDurableConsumer(topic, c.named("sub"), "n = 2"));
      c.send(session, topic, Case.array(Case.texts("n", 3)));
      c.eventually("waiting then", 2L, () -> c.count(Case.shared(c.named("sub"))));
   }

   private static void clientID(Case c) throws Exception {
      Connection first = c.connectAs(c.named("client"));
      c.thrown("second connection of the same id", () -> c.connectAs(c.named("client")));
      first.close();
      c.thrown("after close", () -> c.connectAs(c.named("client")));
      Connection late = c.connect();
      late.createSession(false, Session.AUTO_ACKNOWLEDGE);
      c.thrown("set after use", () -> late.setClientID(c.named("late")));
   }

   private static void wildcard(Case c) throws Exception {
      Session session = c.session();
      MessageConsumer words = session.createConsumer(session.createTopic(c.named("w.#")));
      MessageConsumer word = session.createConsumer(session.createTopic(c.named("w.*")));
      MessageConsumer middle = session.createConsumer(session.createTopic(c.named("w.*.z")));
      for (String topic : new String[] {"w", "w.a", "w.a.b", "w.a.z", "w.z", "w.a.b.z", "v.a"}) {
         c.send(session, session.createTopic(c.named(topic)), topic);
      }
      c.fact("w.#", c.drain(words));
      c.fact("w.*", c.drain(word));
      c.fact("w.*.z", c.drain(middle));
   }

   /** The simplified API of JMS 2. */
   private static void context(Case c) throws Exception {
      try (JMSContext context = c.factory("").createContext(c.broker.user(), c.broker.password(), JMSContext.AUTO_ACKNOWLEDGE)) {
         Topic topic = context.createTopic(c.named("t"));
         JMSConsumer consumer = context.createConsumer(topic);
         context.createProducer().setProperty("colour", "red").setPriority(8).send(topic, "body");
         c.fact("body", consumer.receiveBody(String.class, Case.PATIENCE));
         context.createProducer().send(topic, java.util.Map.of("key", 5));
         c.fact("map", consumer.receiveBody(java.util.Map.class, Case.PATIENCE));
         context.createProducer().send(topic, new byte[] {1, 2});
         c.fact("bytes", consumer.receiveBody(byte[].class, Case.PATIENCE));
         c.fact("nothing", consumer.receiveNoWait());
      }
   }

   private Subscriptions() {
   }
}
