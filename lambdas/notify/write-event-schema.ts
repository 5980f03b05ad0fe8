import { writeFileSync } from 'node:fs';
import { eventJsonSchema } from './event-schema.ts';

// Run after a change of event-schema.ts: node lambdas/notify/write-event-schema.ts
const file = new URL('../../schema/event.schema.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(eventJsonSchema(), null, 2)}\n`);
