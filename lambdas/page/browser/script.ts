import { showClusters } from './clusters.ts';
import { localizeTimes } from './times.ts';

// Without this script the page is complete but for filter, sorting, details and the reader's own clock.
localizeTimes();
const table = document.getElementById('table');
if (table instanceof HTMLTableElement) showClusters(table);
