// What the pages of documents do with JavaScript; without it they are read as they are.
import { addCopyButtons } from './copy';
import { all } from './dom';
import { highlight } from './highlight';
import { showOrigin } from './origin';
import { makeAllTabs } from './samples';
import { addSearch } from './search';
import { addTrials } from './trial';

showOrigin();
highlight();
makeAllTabs();
addCopyButtons();
addSearch();
addTrials();

// A link within the page closes the menu of a narrow screen, which covers it.
const navigation = document.getElementById('navigation');
for (const link of all('a', navigation ?? document.createElement('nav'))) {
  link.addEventListener('click', () => { if (navigation?.matches(':popover-open')) navigation.hidePopover(); });
}
// An anchor may have moved while tabs were made. One of the list of schemas stood for what has a page of its own now.
const anchor = location.hash === '' ? null : document.getElementById(decodeURIComponent(location.hash.slice(1)));
const page = anchor?.matches('.schemas > li') ? anchor.querySelector('a') : null;
if (page) location.replace(page.href);
else anchor?.scrollIntoView();
