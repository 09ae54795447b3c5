package interop;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;

import javax.jms.Connection;
import javax.jms.DeliveryMode;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.TextMessage;

/** Priorities, message groups, and how consumers of one queue share it. */
final class Ordering {

   static void addTo(Cases cases) {
      cases.add("priority.order", Ordering::priority);
      cases.add("priority.topic", Ordering::priorityTopic);
      cases.add("priority.ignored", Ordering::priorityIgnored);
      cases.add("order.mixed", Ordering::mixed);
      cases.add("consumers.share", Ordering::share);
      cases.add("consumers.requeue", Ordering::requeue);
      cases.add("group.sticky", Ordering::sticky);
      cases.add("group.moves", Ordering::moves);
      cases.add("group.sequence", Ordering::sequence);
      cases.add("group.url", c -> url(c, "groupID=fixed", "fixed"));
      cases.add("group.auto", c -> url(c, "autoGroup=true", null));
   }

   private static void priority(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      int n = 0;
      for (int priority : new int[] {4, 0, 9, 4, 9, 1, 5, 0}) {
         producer.send(session.createTextMessage("p" + priority + "-" + n++), DeliveryMode.PERSISTENT, priority, 0);
      }
      c.fact("received", c.receive(session.createConsumer(queue), n));
   }

   private static void priorityTopic(Case c) throws Exception {
      Session session = c.connectAs(c.named("client")).createSession(false, Session.AUTO_ACKNOWLEDGE);
      session.createDurableSubscriber(c.topic(session, "t"), "sub").close();
      MessageProducer producer = session.createProducer(c.topic(session, "t"));
      for (int priority = 0; priority < 10; priority++) {
         producer.send(session.createTextMessage("p" + priority), DeliveryMode.NON_PERSISTENT, priority, 0);
      }
      c.fact("received", c.receive(session.createDurableSubscriber(c.topic(session, "t"), "sub"), 10));
   }

   /** What a consumer has already in its buffer is sorted by priority there too. */
   private static void priorityIgnored(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageConsumer consumer = session.createConsumer(queue);
      MessageProducer producer = session.createProducer(queue);
      for (int priority : new int[] {1, 9}) {
         producer.send(session.createTextMessage("p" + priority), DeliveryMode.PERSISTENT, priority, 0);
      }
      c.eventually("delivering", 2, () -> c.attribute("queue." + c.named("q"), "DeliveringCount"));
      c.fact("received", new TreeSet<>(c.receive(consumer, 2)));
   }

   /** A producer's persistent and non-persistent messages keep their order. */
   private static void mixed(Case c) throws Exception {
      Session session = c.connect("blockOnDurableSend=false&blockOnNonDurableSend=false").createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      for (int n = 0; n < 300; n++) {
         producer.send(session.createTextMessage("m" + n), n % 3 == 0 ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT, 4, 0);
      }
      c.fact("in order", c.receive(session.createConsumer(queue), 300).equals(Case.texts("m", 300)));
   }

   private static void share(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageConsumer one = session.createConsumer(queue);
      MessageConsumer other = session.createConsumer(queue);
      c.send(session, queue, Case.array(Case.texts("m", 6)));
      List<String> a = c.receive(one, 3);
      List<String> b = c.receive(other, 3);
      c.fact("one takes turns with the other", isAlternating(a) && isAlternating(b));
      TreeSet<String> all = new TreeSet<>(a);
      all.addAll(b);
      c.fact("together", all);
   }

   private static boolean isAlternating(List<String> texts) {
      return texts.equals(List.of("m0", "m2", "m4")) || texts.equals(List.of("m1", "m3", "m5"));
   }

   private static void requeue(Case c) throws Exception {
      Connection connection = c.connect();
      Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      Session greedy = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
      MessageConsumer first = greedy.createConsumer(queue);
      c.send(session, queue, Case.array(Case.texts("m", 6)));
      c.receive(first, 3);
      greedy.close();
      c.fact("back in order", c.receive(session.createConsumer(queue), 6));
   }

   private static void sendGroup(Session session, MessageProducer producer, String group, String text) throws Exception {
      TextMessage m = session.createTextMessage(text);
      m.setStringProperty("JMSXGroupID", group);
      producer.send(m);
   }

   private static void sticky(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageConsumer one = session.createConsumer(queue);
      MessageConsumer other = session.createConsumer(queue);
      MessageProducer producer = session.createProducer(queue);
      for (int n = 0; n < 4; n++) {
         for (String group : new String[] {"A", "B", "C"}) {
            sendGroup(session, producer, group, group + n);
         }
      }
      TreeMap<String, String> owners = new TreeMap<>();
      boolean sticky = true;
      boolean ordered = true;
      TreeMap<String, List<String>> byGroup = new TreeMap<>();
      for (MessageConsumer consumer : List.of(one, other)) {
         for (String text : c.drain(consumer)) {
            String group = text.substring(0, 1);
            String owner = consumer == one ? "one" : "other";
            sticky &= owner.equals(owners.computeIfAbsent(group, g -> owner));
            byGroup.computeIfAbsent(group, g -> new ArrayList<>()).add(text);
         }
      }
      for (List<String> texts : byGroup.values()) {
         ordered &= texts.equals(texts.stream().sorted().toList());
      }
      c.fact("groups", byGroup);
      c.fact("each with one consumer", sticky);
      c.fact("each in order", ordered);
      c.fact("consumers used", new TreeSet<>(owners.values()).size());
      c.fact("group count", c.attribute("queue." + c.named("q"), "GroupCount"));
   }

   /** The owner closes: another takes the group over. */
   private static void moves(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageConsumer one = session.createConsumer(queue);
      MessageProducer producer = session.createProducer(queue);
      sendGroup(session, producer, "A", "A0");
      c.fact("first", c.receive(one, 1));
      MessageConsumer other = session.createConsumer(queue);
      sendGroup(session, producer, "A", "A1");
      c.fact("still the first", c.receive(one, 1));
      c.fact("not the other", Case.text(other.receive(Case.SILENCE)));
      one.close();
      sendGroup(session, producer, "A", "A2");
      c.fact("then the other", c.receive(other, 1));
   }

   private static void sequence(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageConsumer consumer = session.createConsumer(queue);
      MessageProducer producer = session.createProducer(queue);
      for (int sequence : new int[] {1, 2, -1}) {
         TextMessage m = session.createTextMessage("s" + sequence);
         m.setStringProperty("JMSXGroupID", "A");
         m.setIntProperty("JMSXGroupSeq", sequence);
         producer.send(m);
         Message got = consumer.receive(Case.PATIENCE);
         c.fact("received", Case.text(got) + " group " + got.getStringProperty("JMSXGroupID") + " sequence " + got.getIntProperty("JMSXGroupSeq"));
         c.fact("group count", c.attribute("queue." + c.named("q"), "GroupCount"));
      }
   }

   private static void url(Case c, String parameters, String expected) throws Exception {
      Session session = c.connect(parameters).createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a", "b");
      MessageConsumer consumer = session.createConsumer(queue);
      String first = consumer.receive(Case.PATIENCE).getStringProperty("JMSXGroupID");
      String second = consumer.receive(Case.PATIENCE).getStringProperty("JMSXGroupID");
      c.fact("group", expected == null ? first != null : first);
      c.fact("same group", first != null && first.equals(second));
   }

   private Ordering() {
   }
}
